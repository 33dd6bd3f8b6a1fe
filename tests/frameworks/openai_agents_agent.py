"""An agent made with the OpenAI Agents SDK, whose model is a script."""

import asyncio
import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.frameworks.tools import ARGUMENTS, move_async


class ScriptedModel(Model):
    """Calls the tool once, and then says that it is done."""

    def __init__(self) -> None:
        self.told = ""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        outputs = [item for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if outputs:
            self.told = str(outputs[0]["output"])
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="1", type="message", role="assistant", content=[text], status="completed")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)
        call = ResponseFunctionToolCall(
            id="1", call_id="call-1", type="function_call", name="move_async", arguments=json.dumps(ARGUMENTS)
        )
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def answer() -> str:
    """What the agent reads after it has called the tool. The framework is told what to make of errors."""
    set_tracing_disabled(True)
    model = ScriptedModel()
    tool = function_tool(move_async, failure_error_function=lambda _, error: str(error))
    asyncio.run(Runner.run(Agent(name="mover", model=model, tools=[tool]), "move a.txt"))
    return model.told
