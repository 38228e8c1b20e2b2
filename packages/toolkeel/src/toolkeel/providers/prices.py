"""Prices of models by name, from genai-prices, for limits in dollars.

``pip install 'toolkeel[cost]'``. Nothing is fetched: the prices are those of the installed version.
"""

from __future__ import annotations

from toolkeel.errors import MissingExtraError
from toolkeel.messages import Usage
from toolkeel.spending import PriceOf

try:
    from genai_prices import Usage as Spent
    from genai_prices import calc_price
except ImportError as error:
    raise MissingExtraError("what most models cost", "cost") from error


def price_of(model: str) -> PriceOf | None:
    """Return a function that prices a model's usage, or None for an unknown model.

    A name means the vendor it is known of, wherever the model runs: a model of your own with the name of
    another one needs a price in `RunLimits.prices`.

    Args:
        model: Name of the model, as its vendor writes it.

    >>> price_of("house-model") is None
    True
    """

    def dollars(usage: Usage) -> float:
        """Return the price of usage in dollars."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        spent = Spent(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=cached,
            cache_write_tokens=min(usage.cache_write_tokens, usage.input_tokens - cached),
        )
        return float(calc_price(spent, model).total_price)

    try:
        dollars(Usage(1, 1, 1))
    except LookupError:
        return None
    return dollars
