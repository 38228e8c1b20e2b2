"""Shared by all wires: plain JSON, transcripts as turns, one HTTP client, one retry.

plain_json            conversions that every wire needs: plain dicts in, clean text out
server_errors         errors of servers, inside a stream or by HTTP status; which are the model's mistakes
sse                   server-sent events, parsed as the bytes arrive
call_ids              call ids: the transcript's on one side, legal wire ids on the other
media                 content blocks on the wire: text, notes, and media by their bytes (largest picture: `encode`)
reasoning_ownership   which model a reply's reasoning belongs to
sampling              settings that a model's server does not take, and the report of them
structured_output     structured output: which servers hold replies to a schema, and its form
part_order            the order of a reply's parts, where it is unusual
tools                 tools on one wire: their JSON, their aliases, and their properties' names
decoder               decoders of answers into deltas or one message; whether an answer ended, and why (finish reason)
request               requests: transcript, tools and settings in, the body out
turns                 transcripts as alternating turns, all results of a reply in one message
body_cache            request bodies that cost the last turn's messages, not the transcript
stored_conversations  stored conversations as messages: the base of the wires' `decode_messages`
http                  options, one client per event loop, errors while reading
retry                 which errors are sent again (status: errors.py), how often, after which wait
model                 the base of all wires' models: send, decode, retry, continue; a broken stream is ``incomplete``
sdk_model             models behind vendors' SDKs: requests, answers, errors
openai_client         clients of OpenAI's SDK, for both of its wires
"""
