"""Google's Gemini wire (``generateContent``), for Google's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    body = gemini.encode(request, model)
    reply = post(f"{base}/models/{model}:generateContent", json=body)
    calls = gemini.decode_calls(reply, tools=tools)
    body["contents"] += gemini.encode_turn(reply, tools.run_sync(calls))

and streamed (``:streamGenerateContent?alt=sse``)::

    from toolkeel.streaming import assemble

    reply = assemble(gemini.decode_stream(chunks, tools=tools))
    body["contents"] += gemini.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or google-genai's object. `StreamDecoder` is the same
decoder without an iterator around it. The wire is described at
https://ai.google.dev/api/generate-content.

profile  constants and options of the wire: options, finish reasons, parts and their signatures, usage
partial_args  arguments of a call that Gemini streams in pieces (Vertex)
stream   decodes answers, complete and streamed, into deltas
decode   decodes stored conversations into messages
encode   encodes transcripts, tools and settings
model    Gemini, through Google's official SDK
"""

from toolkeel.providers.gemini.decode import decode_messages as decode_messages
from toolkeel.providers.gemini.encode import encode as encode
from toolkeel.providers.gemini.encode import encode_messages as encode_messages
from toolkeel.providers.gemini.encode import encode_system as encode_system
from toolkeel.providers.gemini.encode import encode_tools as encode_tools
from toolkeel.providers.gemini.encode import encode_turn as encode_turn
from toolkeel.providers.gemini.stream import StreamDecoder as StreamDecoder

decode, decode_calls = StreamDecoder.decode, StreamDecoder.decode_calls
decode_stream, adecode_stream = StreamDecoder.decode_stream, StreamDecoder.adecode_stream
