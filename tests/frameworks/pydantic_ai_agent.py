"""An agent made with pydantic-ai, whose model is a function."""

import asyncio
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.frameworks.tools import ARGUMENTS, move_file_async


def answer() -> str:
    """What the agent reads after it has called the tool."""
    told: list[Any] = []

    def speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        told.extend(part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if told:
            return ModelResponse(parts=[TextPart("done")])
        assert [tool.name for tool in info.function_tools] == ["move_file_async"]
        return ModelResponse(parts=[ToolCallPart("move_file_async", ARGUMENTS)])

    agent = Agent(FunctionModel(speak), tools=[move_file_async])
    asyncio.run(agent.run("move a.txt"))
    return str(told[0])
