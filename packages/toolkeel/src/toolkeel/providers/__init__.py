"""5. One folder for each wire: profile, encoder, decoders and model.

wire              shared by all wires: HTTP, SSE, ids, media, retries, body caches
text_pieces       readers of text in pieces: cut characters, ends of brackets, repeated text
context_overflow  requests that exceed a model's context, as servers report it
chat_servers      what each server that speaks Chat Completions accepts: settings, schemas, reasoning; a row each
claude            limits and abilities of Claude models, on Anthropic's API and on Bedrock
openai_chat       OpenAI's Chat Completions wire, spoken by most servers
openai_responses  OpenAI's Responses wire
anthropic         Anthropic's Messages wire
bedrock           Amazon Bedrock's Converse wire
gemini            Google's Gemini wire
text_calls        finds calls that servers pass on as text
constrained       calls held to a schema by the server
grammar           tools as grammars, for programs that sample a model themselves
prices            prices of models by name: genai-prices
offline           the embedded model: rules only, no weights, no network
discover          model servers on this machine: Ollama, LM Studio and their like
default_model     the default model
model_by_name     from a name to a model: ``connect("openai:gpt-5")``
"""
