"""OpenAI's Chat Completions wire, for OpenAI's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.chat.completions.create(
        model=model, messages=messages, tools=openai_chat.encode_tools(tools)
    )
    calls = openai_chat.decode_calls(reply)
    messages += openai_chat.encode_turn(reply, tools.run_sync(calls))

and streamed::

    from toolkeel.streaming import assemble

    reply = assemble(openai_chat.decode_stream(client.chat.completions.create(..., stream=True)))
    messages += openai_chat.encode_turn(reply, tools.run_sync(reply.tool_calls))

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same
decoder without an iterator around it. The wire is described at
https://platform.openai.com/docs/api-reference/chat; the differences of its imitators are described at
the top of ``call_pieces`` and in ``toolkeel.providers.chat_servers``.

call_mode    how tools are called: native, in text, or held to a grammar; what ``auto`` chooses
listed_calls  the calls in a message or delta, in whichever form a server lists them
call_pieces  which call a streamed piece belongs to
open_call    a call that is still arriving: what of its arguments is new, complete, or a placeholder
content_parts  content in parts: thinking, text, and what the text cites
profile      constants and options of the wire: options, finish reasons, statuses, usage
stream       decodes answers, complete and streamed, into deltas
decode       decodes stored conversations into messages
reasoning_blocks  blocks of reasoning with signatures, as routers send them
reasoning    reasoning that is sent back with the calls it led to
encode       encodes transcripts, tools and settings
model        models behind Chat Completions, through OpenAI's official SDK
"""

from toolkeel.providers.chat_servers import COMPATIBLE as COMPATIBLE
from toolkeel.providers.chat_servers import OPENAI as OPENAI
from toolkeel.providers.chat_servers import ChatProfile as ChatProfile
from toolkeel.providers.openai_chat.decode import decode_messages as decode_messages
from toolkeel.providers.openai_chat.encode import encode as encode
from toolkeel.providers.openai_chat.encode import encode_messages as encode_messages
from toolkeel.providers.openai_chat.encode import encode_tools as encode_tools
from toolkeel.providers.openai_chat.encode import encode_turn as encode_turn
from toolkeel.providers.openai_chat.stream import StreamDecoder as StreamDecoder

decode, decode_calls = StreamDecoder.decode, StreamDecoder.decode_calls
decode_stream, adecode_stream = StreamDecoder.decode_stream, StreamDecoder.adecode_stream
