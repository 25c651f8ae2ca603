"""Page on which a person lets a program on another device sign in."""

from __future__ import annotations

from allauth.core.internal import ratelimit
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import device_login
from accounts.models import DeviceLogin, User
from accounts.selectors import signed_in_user
from core.errors import Refusal
from pages import flash_messages
from pages.access import sign_in_required
from pages.account.forms import DeviceCodeForm

_DONE = {"allow": "{} is signed in. Go back to the device.", "refuse": "{} is not signed in."}
"""What is shown after a decision."""


@never_cache
@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def device(request: HttpRequest) -> HttpResponse:
    """Ask for the code of a program, then show what it would get, then let it sign in or not."""
    user, code = signed_in_user(request), ""
    login: DeviceLogin | None = None
    form = DeviceCodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        code, decision = form.cleaned_data["code"], request.POST.get("decision", "")
        try:
            login = _waiting_login(request, user, code)
            if decision in _DONE:
                device_login.decide(login=login, allowed=decision == "allow", by=user)
                flash_messages.show_success(request, _DONE[decision].format(login.client))
                return redirect("pages:account")
        except Refusal as refusal:
            form.add_error(None, flash_messages.refusal_text(refusal))
            login = None
    context = {
        "form": form,
        "login": login,
        "code": code,
        "scopes": [scope.label for scope in device_login.SCOPES],
        "days": device_login.TOKEN_DAYS,
    }
    return render(request, "pages/account/device.html", context)


def _waiting_login(request: HttpRequest, user: User, code: str) -> DeviceLogin:
    """Return what waits under the code. Raise `Refusal` if nothing does, or after too many such codes.

    Right ones do not count: a class has one network address.
    """
    counted = ratelimit.consume(request, app="allauth.account", action="device_code", user=user)
    if counted is None:
        raise Refusal("too many codes were tried", fix="wait ten minutes")
    found = device_login.waiting_login(code)
    counted.rollback()
    return found
