r"""Typed actions: declare a dataclass and a notation once; get five things.

The parser from free text, the formatter, the JSON tool schema, the regular expression for a
constrained decoder, and the sampler behind `action_space.sample()`.

Example:
    >>> from dataclasses import dataclass
    >>> from gemenv.core.notation import boxed
    >>> @dataclass(frozen=True)
    ... class Guess:
    ...     "Guess the hidden number."
    ...     number: int
    >>> actions = action_set(ActionForm(Guess, boxed("{number}"), number=range(1, 11)))
    >>> actions.parse(r"It may be 5, or better \boxed{7}.")
    Guess(number=7)
    >>> print(actions.format(Guess(3)))
    \boxed{3}
"""

import functools
import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import msgspec.inspect as types
from numpy.random import Generator

from gemenv.core.field import Domain, Field, describe_field, write_json, write_value
from gemenv.core.notation import Frame, Notation
from gemenv.errors import ActionError, ArgumentError

_MARK = re.compile(r"\{(\w+)\}")
_MAX_ECHO_CHARS = 60


class ActionForm:
    """One way to act: an action type, its notation, and what its fields are drawn from.

    Args:
        action_type: a frozen dataclass; its docstring describes the action to a model.
        notation: how it is written.
        domains: for each field where it matters, the values worth trying (a range or a tuple).
            They feed the sampler, the tool schema and the regular expression. A value outside is
            still parsed: whether it is legal is for the environment to say.

    Raises:
        ArgumentError: if the template and the fields do not fit together.
    """

    __slots__ = (
        "_free_fields",
        "_key",
        "action_type",
        "fields",
        "info",
        "name",
        "notation",
        "template",
    )

    def __init__(self, action_type: type[Any], notation: Notation, **domains: Domain) -> None:
        self.action_type = action_type
        self.notation = notation
        self.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", action_type.__name__).lower()
        domains = {name: _hashable(domain) for name, domain in domains.items()}
        self._key = (action_type, notation, tuple(sorted(domains.items())))
        self.info = types.type_info(action_type)
        assert isinstance(self.info, types.DataclassType), "an action type is a dataclass"
        self.fields = {f.name: describe_field(f, domains.get(f.name)) for f in self.info.fields}
        self.template = notation.template or " ".join(f"{{{name}}}" for name in self.fields)
        if unknown := domains.keys() - self.fields.keys():
            raise ArgumentError(
                problem=f"{action_type.__name__} has no field {sorted(unknown)[0]!r}.",
                expected=f"domains for any of {', '.join(self.fields)}",
                got=sorted(unknown),
                fix="mend the name of the domain",
            )
        self._free_fields: dict[str, re.Pattern[str]] = {}
        if not notation.is_json:
            self._check_template()
            self._free_fields = self._find_free_fields()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionForm) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        kind, notation, domains = self._key
        return _form_from_key, (kind, notation, dict(domains))

    @property
    def usage(self) -> str:
        r"""How to write it, for people and models: `\boxed{reveal <row> <col>}`."""
        if self.notation.is_json:
            arguments = ", ".join(f'"{name}": ...' for name in self.fields)
            body = f'{{"name": "{self.name}", "arguments": {{{arguments}}}}}'
        else:
            body = _MARK.sub(r"<\1>", self.template)
        return self.notation.frame.around(body)

    @property
    def description(self) -> str:
        """The action type's docstring."""
        return inspect.getdoc(self.action_type) or self.name

    def write(self, action: Any) -> str:
        """Write an action of this type; whether it reads back is for the caller to check."""
        values = {name: getattr(action, name) for name in self.fields}
        if self.notation.is_json:
            arguments = ", ".join(f'"{n}": {write_json(v)}' for n, v in values.items())
            body = f'{{"name": "{self.name}", "arguments": {{{arguments}}}}}'
        else:
            body = self.template.format(**{n: write_value(v) for n, v in values.items()})
        return self.notation.frame.around(body)

    def can_hold(self, action: Any) -> bool:
        """Tell whether the notation can hold the action's free text, as `pattern` says it does."""
        return all(
            re.fullmatch(free, getattr(action, name)) for name, free in self._free_fields.items()
        )

    @property
    def pattern(self) -> str:
        """The regular expression of every text that `write` makes."""
        if self.notation.is_json:
            arguments = ", ".join(f'"{n}": {f.json}' for n, f in self.fields.items())
            body = rf'\{{"name": "{self.name}", "arguments": \{{{arguments}\}}\}}'
        else:
            body = self._template_pattern(accepting=False)
        return self.notation.frame.around(body, escape=True)

    def reader(self) -> re.Pattern[str]:
        """Compile the pattern that reads a body: more tolerant of white space and case."""
        return re.compile(self._template_pattern(accepting=True), re.DOTALL)

    def _template_pattern(self, *, accepting: bool) -> str:
        literal = _tolerant if accepting else _exact
        parts = _MARK.split(self.template)
        pieces = [literal(parts[0])]
        for name, after in zip(parts[1::2], parts[2::2], strict=True):
            field = self.fields[name]
            is_last = name == parts[-2] and not after
            known = field.accepted if accepting else field.canonical
            value = known or self._free_pattern(after, accepting=accepting, is_last=is_last)
            pieces += [f"(?P<{name}>{value})" if accepting else value, literal(after)]
        return "".join(pieces)

    def _free_pattern(self, after: str, *, accepting: bool, is_last: bool) -> str:
        """Return the pattern of a text; a word ends where the literal after it begins."""
        if is_last:
            return ".+" if accepting else self.notation.frame.free_text
        word = r"[^\s]+" if accepting else self.notation.frame.word
        return word.replace("[^", f"[^{re.escape(after[:1])}", 1) if after.strip() else word

    def _find_free_fields(self) -> dict[str, re.Pattern[str]]:
        parts = _MARK.split(self.template)
        return {
            name: re.compile(
                self._free_pattern(after, accepting=False, is_last=name == parts[-2] and not after)
            )
            for name, after in zip(parts[1::2], parts[2::2], strict=True)
            if self.fields[name].accepted is None
        }

    def _check_template(self) -> None:
        marks = _MARK.findall(self.template)
        textual = all(field.read for field in self.fields.values())
        has_brace = not {"{", "}"}.isdisjoint(_MARK.sub("", self.template))
        if sorted(marks) != sorted(self.fields) or not textual or has_brace:
            raise ArgumentError(
                problem=f"The template of {self.action_type.__name__} does not fit its fields.",
                expected=f"each of {sorted(self.fields)} once, as int, float, bool, str or Literal",
                got=self.template,
                fix="mend the template, or use json_call() for lists and optional fields",
            )


def _form_from_key(kind: type[Any], notation: Notation, domains: dict[str, Domain]) -> ActionForm:
    return ActionForm(kind, notation, **domains)


class ActionSet:
    """The typed actions that an environment understands; use `action_set` to make one.

    Args:
        forms: one form per action type.
    """

    def __init__(self, forms: tuple[ActionForm, ...]) -> None:
        self.forms = forms
        self._by_type = {form.action_type: form for form in forms}
        self._by_name = {form.name: form for form in forms}
        self._readers: dict[Frame, list[tuple[ActionForm, re.Pattern[str]]]] = {}
        frames = {form.notation.frame for form in forms if form.notation.is_json}
        is_mixed = any(f.notation.frame in frames and not f.notation.is_json for f in forms)
        if not forms or len(self._by_name) < len(forms) or is_mixed:
            raise ArgumentError(
                problem="These forms cannot be told apart.",
                expected="one or more, each of its own type and name; JSON in frames of its own",
                got=[f"{form.name}: {form.usage}" for form in forms],
                fix="leave one out, or give it another frame",
            )
        for form in forms:
            reader = re.compile("") if form.notation.is_json else form.reader()
            self._readers.setdefault(form.notation.frame, []).append((form, reader))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSet) and other.forms == self.forms

    def __hash__(self) -> int:
        return hash(self.forms)

    def __reduce__(self) -> tuple[Any, ...]:
        return action_set, self.forms

    def __repr__(self) -> str:
        return f"ActionSet({self.usage})"

    @property
    def usage(self) -> str:
        """How to write each action, joined by "or"."""
        return " or ".join(form.usage for form in self.forms)

    def parse(self, text: str) -> Any:
        """Read the last complete action of a text.

        Args:
            text: anything a model wrote; time is linear in its length.

        Returns:
            An instance of one of the action types.

        Raises:
            ActionError: if there is none; its `problem` says in one sentence what is wrong.
        """
        found, readers = None, None
        for frame, candidates in self._readers.items():
            here = frame.find(text)
            if here is not None and (found is None or here.start > found.start):
                found, readers = here, candidates
        if found is None or readers is None:
            raise self._absent(text)
        form, _ = readers[0]
        if form.notation.is_json:
            return self._read_call(found.body)
        body = found.body.strip() if form.notation.frame.strips else found.body
        return self._read_template(body, readers)

    def format(self, action: object) -> str:
        """Write an action in its notation, so that `parse` gives it back.

        Raises:
            ArgumentError: if the action is none of the set's, or if its notation cannot hold it.
        """
        form = self._by_type.get(type(action))
        text = form.write(action) if form else ""
        try:
            if form and form.can_hold(action) and self.parse(text) == action:
                return text
        except ActionError:
            pass  # reported below, with the action itself
        raise ArgumentError(
            problem="The action cannot be written in its notation.",
            expected=f"an action that reads back from {self.usage}",
            got=action,
            fix="use one of the set's types, with values that its notation can hold",
        )

    def from_call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Build an action from a tool call.

        Raises:
            ActionError: if there is no such action, or the arguments do not fit it.
        """
        form = self._by_name.get(name)
        if form is None:
            raise _unreadable(
                f"There is no action {_echo(name)}; there is {', '.join(self._by_name)}.",
                self.usage,
                name,
            )
        if unknown := arguments.keys() - form.fields.keys():
            problem = f"{form.name} takes no {', '.join(map(_echo, sorted(unknown)[:3]))}."
            raise _unreadable(problem, form.usage, arguments)
        return _converted(form, arguments)

    def tools(self) -> list[dict[str, Any]]:
        """Return the actions as OpenAI-style function tools, one per type."""
        return [_tool(form) for form in self.forms]

    @property
    def pattern(self) -> str:
        """The regular expression of every well-formed action, for constrained decoding.

        Every text that `format` makes of values within the domains matches it in full. Every match
        is read back, unless a bound of `msgspec.Meta` (of more than 256 values, or of a length)
        refuses the value.
        """
        return "|".join(f"(?:{form.pattern})" for form in self.forms)

    def sample(self, rng: Generator) -> Any:
        """Draw a well-formed action: a type, then each field from its domain.

        Raises:
            ArgumentError: if a field has neither a domain nor a type to draw from.
        """
        form = self.forms[int(rng.integers(len(self.forms)))]
        return form.action_type(
            **{field.name: _drawn(form, field, rng) for field in form.fields.values()}
        )

    def _read_template(
        self, body: str, readers: Iterable[tuple[ActionForm, re.Pattern[str]]]
    ) -> Any:
        for form, pattern in readers:
            match = pattern.fullmatch(body)
            if match is not None:
                values = {
                    name: _read_field(form.fields[name], text)
                    for name, text in match.groupdict().items()
                }
                return _converted(form, values)
        raise _unreadable(f"{_echo(body)} is not of the form {self.usage}.", self.usage, body)

    def _read_call(self, body: str) -> Any:
        try:
            call = msgspec.json.decode(body.encode("utf-8", "surrogatepass"), type=_Call)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _unreadable(f"The tool call is malformed: {error}.", self.usage, body) from None
        return self.from_call(call.name, call.arguments)

    def _absent(self, text: str) -> ActionError:
        opened = [frame.opening for frame in self._readers if frame.opening in text]
        if opened:
            problem = f"The action is not closed: {opened[0]} is opened, but never ends."
        else:
            problem = f"No action found: write it as {self.usage}."
        return _unreadable(problem, self.usage, text)


@functools.lru_cache(maxsize=1024)
def action_set(*forms: ActionForm) -> ActionSet:
    """Return the set of these forms; equal forms share one set, so instances of an env do too."""
    return ActionSet(forms)


def _hashable(domain: Domain) -> Domain:
    values = domain if isinstance(domain, range) else tuple(domain)
    if not values:
        raise ArgumentError(
            problem="A domain has no values.",
            expected="at least one value to draw",
            got=domain,
            fix="leave the domain out, or give it values",
        )
    return values


def _tolerant(literal: str) -> str:
    words = re.split(r"\s+", literal)
    return "(?ai:" + r"\s+".join(map(re.escape, words)) + ")" if literal else ""


def _exact(literal: str) -> str:
    return re.escape(literal).replace("\\ ", " ")


class _Call(msgspec.Struct):
    name: str
    arguments: dict[str, Any]


def _read_field(field: Field, text: str) -> Any:
    assert field.read is not None, "the form's template was checked when it was declared"
    try:
        return field.read(text)
    except ValueError:  # an integer of more than 4300 digits, or a float near infinity
        raise _unreadable(
            f"The {field.name} is too large ({len(text)} characters).", "a smaller number", text
        ) from None


def _converted(form: ActionForm, values: dict[str, Any]) -> Any:
    try:
        return msgspec.convert(values, form.action_type)
    except msgspec.ValidationError as error:
        problem = str(error).replace(" - at `$.", " in `")
        raise _unreadable(f"{form.name}: {problem}.", form.usage, values) from None


def _unreadable(problem: str, expected: str, got: Any) -> ActionError:
    return ActionError(
        problem=problem, expected=expected, got=got, fix="answer again, with the action at the end"
    )


def _echo(text: str) -> str:
    return repr(text if len(text) <= _MAX_ECHO_CHARS else text[:_MAX_ECHO_CHARS] + "...")


def _drawn(form: ActionForm, field: Field, rng: Generator) -> Any:
    if field.sample is None:
        raise ArgumentError(
            problem=f"{form.name}.{field.name} has nothing to be drawn from.",
            expected="a domain for the field",
            got=None,
            fix=f"declare ActionForm(..., {field.name}=<a range or a tuple of values>)",
        )
    return field.sample(rng)


def _tool(form: ActionForm) -> dict[str, Any]:
    _, components = msgspec.json.schema_components([form.action_type])
    schema = components[form.action_type.__name__]
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": {n: dict(s) for n, s in schema.get("properties", {}).items()},
        "required": list(schema.get("required", [])),
        "additionalProperties": False,
    }
    for name, domain in dict(form._key[2]).items():  # pyright: ignore[reportPrivateUsage]
        parameters["properties"][name].update(_bounds(domain))
    function = {"name": form.name, "description": form.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _bounds(domain: Domain) -> dict[str, Any]:
    if isinstance(domain, range) and domain.step == 1:
        return {"minimum": domain.start, "maximum": domain.stop - 1}
    return {"enum": list(domain)} if len(domain) <= 64 else {}
