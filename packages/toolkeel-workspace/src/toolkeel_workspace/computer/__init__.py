"""A screen that a model sees and acts on.

actions  actions of models of all kinds, and performing them
browser  a browser as a computer: the system's Chromium, driven by Playwright
tool     the tool, for any model that sees pictures
"""
