"""An agent made with LangGraph, whose model is a script."""

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.frameworks.tools import ARGUMENTS, move


def answer() -> str:
    """What the agent reads after it has called the tool. Errors of a tool become messages by the framework."""
    call = {"name": "move", "args": ARGUMENTS, "id": "call-1", "type": "tool_call"}
    model = FakeMessagesListChatModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")])

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", speak)
    graph.add_node("tools", ToolNode([move], handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    messages = graph.compile().invoke({"messages": [("user", "move a.txt")]})["messages"]
    (told,) = [message.content for message in messages if isinstance(message, ToolMessage)]
    return str(told)
