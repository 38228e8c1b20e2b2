"""Instructions in files: Agent Skills, and those of a repository.

front_matter             which SKILL.md is usable: name, description and body, with a note for each mistake
folder                   the skills below a folder
skills                   the tools by which a model loads skills, reads their files and runs scripts
repository_instructions  a repository's AGENTS.md or CLAUDE.md as instructions
"""
