"""Streams of a run in LangGraph's forms.

stream_modes  the parts of events that each ``stream_mode`` yields, and versions of results
message_chunks  `AIMessageChunk`: pieces of a streamed reply
growing       replies and calls that are read while they arrive
run_stream    `stream_events(version="v3")`: a run's values, messages and calls as streams
"""
