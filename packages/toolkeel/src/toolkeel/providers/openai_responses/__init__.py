"""OpenAI's Responses wire, for OpenAI's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.responses.create(
        model=model, input=items, tools=openai_responses.encode_tools(tools)
    )
    calls = openai_responses.decode_calls(reply, tools=tools)
    items += openai_responses.encode_turn(reply, tools.run_sync(calls))

and streamed::

    from toolkeel.streaming import assemble

    events = client.responses.create(..., stream=True)
    reply = assemble(openai_responses.decode_stream(events, tools=tools))
    items += openai_responses.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same decoder
without an iterator around it. The wire is described at
https://platform.openai.com/docs/api-reference/responses.

profile       constants and options of the wire: options, reasons, statuses, parts of items, usage
native_calls  calls that the Responses API makes of its own tools and the program answers
open_item     an output item that is still arriving: its latest form and its pieces
previous_response  messages that follow a response stored at the server
item_matching  which streamed item an event or an entry of the final list belongs to
stream        decodes answers, complete and streamed, into deltas
decode        decodes stored conversations into messages
encode        encodes transcripts, tools and settings
model         models behind the Responses API, through OpenAI's official SDK
"""

from toolkeel.providers.openai_responses.decode import decode_messages as decode_messages
from toolkeel.providers.openai_responses.encode import encode as encode
from toolkeel.providers.openai_responses.encode import encode_messages as encode_messages
from toolkeel.providers.openai_responses.encode import encode_tools as encode_tools
from toolkeel.providers.openai_responses.encode import encode_turn as encode_turn
from toolkeel.providers.openai_responses.stream import StreamDecoder as StreamDecoder

decode, decode_calls = StreamDecoder.decode, StreamDecoder.decode_calls
decode_stream, adecode_stream = StreamDecoder.decode_stream, StreamDecoder.adecode_stream
