"""Chat models under LangChain's names.

chat_models  `init_chat_model`, structured output, and a chat model with bound tools
own_models   chat models of your own: `BaseChatModel`, and a fake one for tests
vendors      the classes of partner packages, such as `ChatOpenAI`
"""
