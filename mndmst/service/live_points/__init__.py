"""Points that the service keeps, with clusters that follow their changes."""
