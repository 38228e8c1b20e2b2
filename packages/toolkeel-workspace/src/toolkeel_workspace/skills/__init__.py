"""Agent Skills: folders of instructions, files and scripts that a model loads when it needs them.

front_matter  SKILL.md as name, description and body, with a note for each mistake
folder        the skills below a folder
skills        the tools by which a model loads skills, reads their files and runs their scripts
"""
