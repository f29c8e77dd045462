"""Environment ids: `family:Name[-vN][-variant]`."""

import re
from typing import NamedTuple, Self

from gemenv.errors import RegistrationError

_FULL = re.compile(
    r"(?P<family>[a-z][a-z0-9_]*):(?P<name>[\w.]+(?:-[\w.]+)*?)-v(?P<version>\d+)(?:-(?P<variant>[\w.-]+))?"
)


class EnvId(NamedTuple):
    """A full id, in parts.

    Attributes:
        family: such as `game`; one family is one plug-in, loaded at once.
        name: such as `Sudoku`.
        version: raised whenever the same seed would give another episode.
        variant: such as `hard`; `""` where an environment has none.
    """

    family: str
    name: str
    version: int = 0
    variant: str = ""

    def __str__(self) -> str:
        variant = f"-{self.variant}" if self.variant else ""
        return f"{self.family}:{self.name}-v{self.version}{variant}"

    @property
    def gymnasium_id(self) -> str:
        """The same id in Gymnasium's spelling: `game/Sudoku-v0-hard`."""
        return str(self).replace(":", "/", 1)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a full id.

        Raises:
            RegistrationError: if it is not of the form `family:Name-vN[-variant]`.

        Example:
            >>> EnvId.parse("game:Sudoku-v0-hard").variant
            'hard'
        """
        match = _FULL.fullmatch(text)
        if match is None:
            raise RegistrationError(
                problem="This is not a full environment id.",
                expected="'family:Name-vN' or 'family:Name-vN-variant'",
                got=text,
                fix="register e.g. 'mine:MyGame-v0'",
            )
        parts = match.groupdict(default="")
        return cls(parts["family"], parts["name"], int(parts["version"]), parts["variant"])
