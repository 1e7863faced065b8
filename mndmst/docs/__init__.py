"""The documentation, and the page of it that is made from the parser."""
