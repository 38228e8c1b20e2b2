"""Agents over AG-UI, under the names of Pydantic AI: the client keeps the conversation.

decode   requests as the run they ask for
encode   a run as events of the protocol
adapter  `AGUIAdapter`: a request in, a stream of events out
"""
