from typing import Any

from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, PrivateAttr, ValidationError, field_validator


class Numbers(BaseModel):
    a: int = Field(description="first")
    b: int = Field(description="second")


class Calculator(BaseTool):
    name: str = "calculator"
    description: str = "Adds."
    args_schema: type[BaseModel] = Numbers
    factor: int = Field(default=1, ge=1)
    unit: str
    _log: list[Any] = PrivateAttr(default_factory=list)

    @field_validator("unit")
    @classmethod
    def stripped(cls, value: str) -> str:
        return value.strip()

    def _run(self, a: int, b: int, run_manager: CallbackManagerForToolRun | None = None) -> str:
        self._log.append((a, b))
        return f"{(a + b) * self.factor} {self.unit} ({len(self._log)})"


tool = Calculator(factor="2", unit=" m ")
print(tool.invoke({"a": 1, "b": 2}), tool.run({"a": 3, "b": 4}))
try:
    Calculator(factor=0, unit="m")
except ValidationError as error:
    print(error.error_count(), error.errors()[0]["type"])
