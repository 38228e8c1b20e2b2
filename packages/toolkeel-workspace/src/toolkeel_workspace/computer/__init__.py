"""A screen that a model looks at and acts on.

actions  what can be done to a computer: actions as models of all kinds say them, and doing them
browser  a browser as a computer: the system's Chromium, driven by Playwright
tool     a tool that looks at a screen and acts on it, for any model that sees pictures
"""
