"""What all wires share: plain JSON in, a transcript as turns, one HTTP client, one retry.

plain_json            what every wire format needs: plain dicts in, clean text out
server_errors         errors as servers send them: in place of an answer, inside a stream, by HTTP
sse                   server-sent events, taken apart as the bytes arrive
call_ids              call ids: the transcript's on one side, what a wire takes on the other
media                 content blocks as providers can take them: which are text, and the bytes of the others
reasoning_ownership   whose reasoning it is
claude                what Claude's models take, by generation: through Anthropic's own API and through Bedrock
structured_output     structured output: which servers make replies keep to a schema, and the form they take it in
part_order            the order of a reply's parts, where it is not the plain one
tools                 tools as one wire knows them: their JSON, their names there, and their properties' names
decoder               answers of every wire, whole and streamed: as deltas, and as one message
request               requests of every wire: transcript, tools and settings in, the body out
turns                 a transcript as turns: user and assistant by turns, all results of a reply in one message
body_cache            requests that cost what the last turn added, not what the whole transcript holds
stored_conversations  stored conversations as messages: what `decode_messages` of the wires shares
http                  what models on HTTP clients share: a client for each event loop, and how long to wait
retry                 the one place where a failed request is sent again; the SDKs' own repetitions are switched off
model                 what the models of all wires share: a request goes out, its events come in
sdk_model             models behind OpenAI's and Anthropic's SDKs, which are made alike: requests, answers, errors
openai_client         clients of OpenAI's SDK, for both of its wires
"""
