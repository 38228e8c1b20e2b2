from langchain_core.tools import Tool

shout = Tool(name="shout", func=lambda text: text.upper(), description="Shouts.")
print(shout.name, shout.description, shout.invoke("hello"), shout.run("again"))
