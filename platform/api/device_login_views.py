"""Sign-in of a program where no browser is (RFC 8628), see `accounts.device_login`."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from accounts.device_login import INTERVAL, LIFETIME, TOKEN_DAYS, DeviceRefusal, begin, token_of
from api.base_views import ApiView
from api.request_bodies import BodySerializer, values_of
from core.problem_details import CONTENT_TYPE, problem_details

_NOT_KEPT = {"Cache-Control": "no-store"}


class BeginDeviceLoginSerializer(BodySerializer):
    """What the program calls itself: a person sees it before they confirm, and it names the token."""

    client = serializers.CharField(max_length=60)


class DeviceTokenBodySerializer(BodySerializer):
    """The `device_code` of the first answer."""

    device_code = serializers.CharField(max_length=100)


class DeviceCodesSerializer(serializers.Serializer[Any]):
    """The codes: a person types `user_code` at `verification_uri`, and the program keeps `device_code` to itself."""

    device_code = serializers.CharField()
    user_code = serializers.CharField()
    verification_uri = serializers.CharField()
    expires_in = serializers.IntegerField()
    interval = serializers.IntegerField()


class DeviceTokenSerializer(serializers.Serializer[Any]):
    """The access token, which is shown once."""

    access_token = serializers.CharField()
    token_type = serializers.CharField()
    expires_in = serializers.IntegerField()
    scope = serializers.CharField()


class BeginDeviceLogin(ApiView):
    """Let a program wait until a person confirms its code. It asks for the token every `interval` seconds."""

    authentication_classes = ()  # it has no token yet, or one that is no longer valid
    throttle_scope = "device"

    @extend_schema(
        operation_id="beginDeviceLogin", request=BeginDeviceLoginSerializer, responses={200: DeviceCodesSerializer}
    )
    def post(self, request: Request) -> Response:
        """Return the codes."""
        values = values_of(request, BeginDeviceLoginSerializer)
        codes = begin(client=values["client"], address=BaseThrottle().get_ident(request) or "")
        content = {
            "device_code": codes.device,
            "user_code": codes.user,
            "verification_uri": request.build_absolute_uri(reverse("pages:device")),
            "expires_in": int(LIFETIME.total_seconds()),
            "interval": INTERVAL,
        }
        return Response(content, headers=_NOT_KEPT)


class GetDeviceToken(ApiView):
    """The token of a program whose code a person has confirmed; 400 with the reason before, and ever after."""

    authentication_classes = ()

    @extend_schema(
        operation_id="getDeviceToken", request=DeviceTokenBodySerializer, responses={200: DeviceTokenSerializer}
    )
    def post(self, request: Request) -> Response:
        """Return the token, or a problem whose member `error` is the code of the RFC."""
        try:
            token, plain = token_of(values_of(request, DeviceTokenBodySerializer)["device_code"])
        except DeviceRefusal as refusal:
            code = status.HTTP_400_BAD_REQUEST
            problem = problem_details(code, refusal.code, refusal.problem, refusal.fix)
            content = {**problem, "error": refusal.code.replace("-", "_")}
            return Response(content, status=code, content_type=CONTENT_TYPE)
        content = {
            "access_token": plain,
            "token_type": "Bearer",
            "expires_in": TOKEN_DAYS * 24 * 3600,
            "scope": " ".join(token.scopes),
        }
        return Response(content, headers=_NOT_KEPT)
