"""Anthropic's Messages wire, for Anthropic's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.messages.create(
        model=model, max_tokens=4096, messages=messages, tools=anthropic.encode_tools(tools)
    )
    calls = anthropic.decode_calls(reply, tools=tools)
    messages += anthropic.encode_turn(reply, tools.run_sync(calls))

and streamed::

    from toolkeel.streaming import assemble

    events = client.messages.create(..., stream=True)
    reply = assemble(anthropic.decode_stream(events, tools=tools))
    messages += anthropic.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same decoder
without an iterator around it. The wire is described at
https://platform.claude.com/docs/en/api/messages.

profile  constants and options of the wire: options, stop reasons, statuses, usage
stream   decodes answers, complete and streamed, into deltas
decode   decodes stored conversations into messages
encode   encodes transcripts, tools and settings; marks for the prompt cache; pictures too large become notes
model    Claude, through Anthropic's official SDK
"""

from toolkeel.providers.anthropic.decode import decode_messages as decode_messages
from toolkeel.providers.anthropic.encode import encode as encode
from toolkeel.providers.anthropic.encode import encode_messages as encode_messages
from toolkeel.providers.anthropic.encode import encode_system as encode_system
from toolkeel.providers.anthropic.encode import encode_tools as encode_tools
from toolkeel.providers.anthropic.encode import encode_turn as encode_turn
from toolkeel.providers.anthropic.stream import StreamDecoder as StreamDecoder

decode, decode_calls = StreamDecoder.decode, StreamDecoder.decode_calls
decode_stream, adecode_stream = StreamDecoder.decode_stream, StreamDecoder.adecode_stream
