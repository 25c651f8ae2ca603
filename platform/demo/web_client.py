"""A client that uses the site's pages as a person does, with cookies and forms."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import requests

from core.errors import Fault

TOKEN = re.compile(r"gtl_[\w-]{43}")


class Form:
    """A form of a page: its action and its preset fields."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.fields: dict[str, str] = {}
        self.boxes: dict[str, str] = {}
        """Values of the check boxes that are not ticked."""


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._inside = False
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(Form(given.get("action", "")))
            self._inside = True
        elif self._inside and tag in {"input", "select", "textarea"} and "name" in given:
            ticked = given.get("type") not in {"checkbox", "radio"} or "checked" in given
            self.found[-1].fields.setdefault(given["name"], given.get("value", "") if ticked else "")
            if not ticked:
                self.found[-1].boxes.setdefault(given["name"], given.get("value", ""))
            self._select = given["name"] if tag == "select" else ""
        elif self._inside and tag == "option" and self._select and "selected" in given:
            self.found[-1].fields[self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False


class WebClient:
    """A browser session at the site `url`; `session` is what sends its requests, if not one of its own."""

    def __init__(self, url: str, session: requests.Session | None = None) -> None:
        self._url = url
        self._session = session or requests.Session()

    def register(self, username: str, password: str) -> None:
        """Register an account and log in."""
        self._send("/accounts/signup/", username=username, password1=password, password2=password)

    def log_in(self, username: str, password: str) -> None:
        """Log in with an existing account."""
        self._send("/accounts/login/", login=username, password=password)

    def act(self, path: str, expected: str, **values: str) -> None:
        """Submit a form of the admin. Raise `Fault` with the page's errors if the answer lacks the text `expected`."""
        answer = self._send(path, **values)
        if expected not in answer:
            raise Fault(f"{path} did not answer {expected!r}, but: {_form_errors(answer) or 'no message'}")

    def download(self, path: str) -> bytes:
        """Return the content at `path`."""
        answer = self._session.get(self._url + path, timeout=60)
        if not answer.ok:
            raise Fault(f"{path} answered {answer.status_code}")
        return answer.content

    def make_team(self, competition: str, slug: str, name: str) -> None:
        """Create a team of one, accept the terms, if any, and enter the competition."""
        self._send(f"/competitions/{competition}/teams/new", tick="terms", slug=slug, name=name)

    def invite(self, team: str, username: str) -> None:
        """Invite a person to the captain's team."""
        self._send(f"/teams/{team}", username=username)

    def accept_invitation(self) -> None:
        """Accept the first invitation on the account page."""
        self._send("/account", to="/accept")

    def make_token(self, name: str) -> str:
        """Create an access token for git and return it from the page, which shows it once."""
        page = self._send("/account", name=name, scopes=["read", "submit"], days="365")
        token = TOKEN.search(page)
        if token is None:
            raise Fault("the account page shows no token")
        return token[0]

    def _send(self, path: str, *, to: str = "", tick: str = "", **values: str | list[str]) -> str:
        """Submit the form of the page `path` with these fields; return the page that answers.

        `to` is the end of the form's address, `tick` the name of a check box to tick if there is one. Raise `Fault` if
        there is no such form or the answer is an error.
        """
        page = self._session.get(self._url + path, timeout=60)
        page.raise_for_status()
        forms = _Forms()
        forms.feed(page.text)
        fitting = (form for form in forms.found if set(values) <= set(form.fields) and form.action.endswith(to))
        form = next(fitting, None)
        if form is None:
            raise Fault(f"{path} has no form {to} with the fields {', '.join(values)}")
        if tick in form.boxes:
            form.fields[tick] = form.boxes[tick]
        address = urljoin(page.url, form.action)
        answer = self._session.post(address, data=form.fields | values, headers={"Referer": page.url}, timeout=60)
        if not answer.ok:
            raise Fault(f"{path} answered {answer.status_code} to the form with {', '.join(values)}")
        if answer.url == address and "errorlist" in answer.text:
            raise Fault(f"{path} rejected the form: {_form_errors(answer.text)}")
        return answer.text


def _form_errors(page: str) -> str:
    """Return the errors that a page of the site or the admin shows."""
    blocks = re.findall(r'<(ul|div) class="(?:errorlist|errornote|mt-2 text-red)[^>]*>(.*?)</\1>', page, re.DOTALL)
    return " ".join(" ".join(re.sub("<[^>]+>", " ", text) for _, text in blocks).split())
