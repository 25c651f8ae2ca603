"""Addresses of the API."""

from __future__ import annotations

from django.urls import path

from api import rounds, views

app_name = "api"
urlpatterns = [
    path("", views.ListAddresses.as_view(), name="addresses"),
    path("competitions", views.ListCompetitions.as_view(), name="competitions"),
    path("competitions/<slug:slug>", views.ShowCompetition.as_view(), name="competition"),
    path(
        "competitions/<slug:slug>/leaderboards/<slug:track_name>", views.ShowLeaderboard.as_view(), name="leaderboard"
    ),
    path("competitions/<slug:slug>/rounds", rounds.ListRounds.as_view(), name="rounds"),
    path("competitions/<slug:slug>/rounds/<int:number>", rounds.ShowRound.as_view(), name="round"),
    path("competitions/<slug:slug>/rounds/<int:number>/objections", rounds.ListObjections.as_view(), name="objections"),
    path("signing-keys", rounds.ListSigningKeys.as_view(), name="signing_keys"),
    path("submissions/<int:number>", views.ShowSubmission.as_view(), name="submission"),
    path("submissions/<int:number>/withdraw", views.WithdrawSubmission.as_view(), name="withdraw"),
    path("repositories/<slug:team>/<slug:track_name>/quota", views.ShowQuota.as_view(), name="quota"),
    path("repositories/<slug:team>/<slug:track_name>/submissions", views.Submit.as_view(), name="submit"),
]
