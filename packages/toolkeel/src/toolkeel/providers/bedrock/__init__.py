"""Bedrock's Converse wire, for boto3 or anybody's client.

Pure functions between this library's records and the wire's dicts, in the form boto3 has them:
bytes as bytes. With a client of your own::

    reply = client.converse(
        modelId=model, messages=messages, toolConfig={"tools": bedrock.encode_tools(tools)}
    )
    calls = bedrock.decode_calls(reply, tools=tools)
    messages += bedrock.encode_turn(reply, tools.run_sync(calls))

and streamed::

    from toolkeel.streaming import assemble

    answer = client.converse_stream(...)
    reply = assemble(bedrock.decode_stream(answer["stream"], tools=tools))
    messages += bedrock.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

The wire is described at
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.

profile  constants and options of the wire: options, stop reasons, statuses, bytes in JSON, usage
stream   decodes answers, complete and streamed, into deltas
decode   decodes stored conversations into messages
encode   encodes transcripts, tools and settings, bytes as bytes; marks for the prompt cache; pictures too large
aws      AWS's own library: addresses, credentials, signatures, frames
model    models on Amazon Bedrock: signed by AWS's own library, sent as on every other wire
"""

from toolkeel.providers.bedrock.decode import decode_messages as decode_messages
from toolkeel.providers.bedrock.encode import encode as encode
from toolkeel.providers.bedrock.encode import encode_messages as encode_messages
from toolkeel.providers.bedrock.encode import encode_system as encode_system
from toolkeel.providers.bedrock.encode import encode_tools as encode_tools
from toolkeel.providers.bedrock.encode import encode_turn as encode_turn
from toolkeel.providers.bedrock.stream import StreamDecoder as StreamDecoder

decode, decode_calls = StreamDecoder.decode, StreamDecoder.decode_calls
decode_stream, adecode_stream = StreamDecoder.decode_stream, StreamDecoder.adecode_stream
