"""Versions of points that change, and of their forest: a batch makes the next one."""
