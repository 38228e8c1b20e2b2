"""A screen that a model sees and acts on.

actions  actions of models of all kinds, and performing them
browser  a browser as a computer: the system's Chromium, driven by Playwright
tool     `ComputerTool`: the provider's own form or a function, and its safety checks
"""
