"""Which model chats, and what it may cost, as options of commands and of programs."""

from dataclasses import dataclass

from pqpp_backbones.chat.chat import Budget, Chat
from pqpp_files.options.option import Options, RecipeError, option


@dataclass(frozen=True, kw_only=True)
class ChatOptions(Options):
    """Which model chats, and the limits of its calls.

    Example:
        >>> ChatOptions(chat_model="m", most_calls=3).budget().most_calls
        3
    """

    chat_url: str | None = option(
        None,
        "an endpoint that speaks OpenAI's chat completions, up to /v1; its key comes from the "
        "variable PQPP_CHAT_KEY; without it the model runs in this process",
        metavar="URL",
    )
    chat_model: str | None = option(
        None,
        "who answers: a name at the endpoint, or a folder or OWNER/REPOSITORY of a model",
        metavar="NAME",
        path="name",
    )
    most_calls: int | None = option(None, "the most calls that may be made", metavar="N", above=0)
    most_money: float | None = option(
        None, "the most that may be spent, with --prices", metavar="SUM", above=0
    )
    prices: list[float] = option(
        [],
        "what a million tokens of questions and of replies cost",
        metavar="IN,OUT",
        least=0,
        below=1e9,
    )

    def __post_init__(self) -> None:
        """Check the prices too."""
        super().__post_init__()
        if len(self.prices) not in (0, 2):
            raise RecipeError(f"`prices` is {self.prices}; give two numbers IN,OUT, as 0.15,0.6")
        if self.most_money is not None and not any(self.prices):
            raise RecipeError("`most_money` needs `prices`: what a million tokens cost, IN,OUT")

    def budget(self) -> Budget:
        """Return a new account with these limits."""
        price_in, price_out = self.prices or (0.0, 0.0)
        return Budget(self.most_calls, self.most_money, price_in, price_out)

    def open_chat(
        self,
        name: str,
        budget: Budget,
        device: str | None = None,
        dtype: str = "float32",
        sees: bool = False,
    ) -> Chat:
        """Open a model at the endpoint or, without one, in this process.

        Args:
            sees: Whether it must take images.

        Raises:
            ChatError: The endpoint's address is none, or there is no such model.
        """
        if self.chat_url:
            from pqpp_backbones.chat.endpoint import Endpoint

            return Endpoint(self.chat_url, name, budget)
        from pqpp_backbones.chat.in_process import open_in_process

        return open_in_process(name, budget, device, dtype, sees)
