"""OpenAI's Responses and Chat Completions (any OpenAI client, Open WebUI, LibreChat): an adapter over the channel.

ids          ids of responses and calls, which name a session and a place in it
decode       what a request asks for: messages, approvals, results, a chat's title
responses    items as events of a response
chat         items as chunks of a completion
routes       the routes of responses, and the list of models
completions  the route of chat completions: with a session or without; titles without a run
"""
