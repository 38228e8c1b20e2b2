"""The Agent Client Protocol, ACP 1 (Zed, JetBrains, Neovim): an adapter over the channel.

updates         items as updates of an editor's session
editor_session  a session: its folder bounds the agent's files, and its mode the agent's calls
agent           what an editor asks for: sessions, prompts, cancel; permissions are asked of its person
lines           messages of JSON-RPC as lines
stdio           an agent for the editor that started this process
"""
