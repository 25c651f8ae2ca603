"""Addresses of the API."""

from __future__ import annotations

from django.urls import include, path

from api import challenges, matches, profile_views, rounds, schema, submission_views, views
from api.unversioned_addresses import UnknownAddress, moved

app_name = "api"

_board = "competitions/<slug:slug>/leaderboards/<slug:track_name>"
_round = "competitions/<slug:slug>/rounds/<int:number>"
_repository = "repositories/<slug:team>/<slug:track_name>"

version_1 = [
    path("", views.ShowIndex.as_view(), name="index"),
    path("openapi.json", schema.ShowOpenApi.as_view(), name="openapi"),
    path("docs", schema.documentation, name="docs"),
    path("profile", profile_views.ShowProfile.as_view(), name="profile"),
    path("profile/teams", profile_views.ListOwnTeams.as_view(), name="own_teams"),
    path("competitions", views.ListCompetitions.as_view(), name="competitions"),
    path("competitions/<slug:slug>", views.ShowCompetition.as_view(), name="competition"),
    path("competitions/<slug:slug>/tracks", views.ListTracks.as_view(), name="tracks"),
    path("competitions/<slug:slug>/rules", views.ListRules.as_view(), name="rules"),
    path(_board, views.ShowLeaderboard.as_view(), name="leaderboard"),
    path("competitions/<slug:slug>/rounds", rounds.ListRounds.as_view(), name="rounds"),
    path(_round, rounds.ShowRound.as_view(), name="round"),
    path(f"{_round}/decisions", rounds.ListDecisions.as_view(), name="decisions"),
    path(f"{_round}/objections", rounds.ListObjections.as_view(), name="objections"),
    # the key of a pair has a slash
    path(f"{_round}/matches/<path:key>", matches.ShowRoundMatch.as_view(), name="round_match"),
    path("competitions/<slug:slug>/matches/<path:key>", matches.ShowMatch.as_view(), name="match"),
    path("signing-keys", rounds.ListSigningKeys.as_view(), name="signing_keys"),
    path("submissions", submission_views.ListSubmissions.as_view(), name="submissions"),
    path("submissions/<int:number>", submission_views.ShowSubmission.as_view(), name="submission"),
    path("submissions/<int:number>/log", submission_views.ShowLog.as_view(), name="log"),
    path("submissions/<int:number>/evaluations", submission_views.ListEvaluations.as_view(), name="evaluations"),
    path("submissions/<int:number>/matches", matches.ListMatches.as_view(), name="matches"),
    path("submissions/<int:number>/challenges", challenges.ListChallenges.as_view(), name="challenges"),
    path("submissions/<int:number>/challenges/<int:challenge>", challenges.ShowChallenge.as_view(), name="challenge"),
    path("submissions/<int:number>/opponents", challenges.ListOpponents.as_view(), name="opponents"),
    path("submissions/<int:number>/withdraw", submission_views.WithdrawSubmission.as_view(), name="withdraw"),
    path("submissions/<int:number>/choose", submission_views.ChooseSubmission.as_view(), name="choose"),
    path(f"{_repository}/quota", submission_views.ShowQuota.as_view(), name="quota"),
    path(f"{_repository}/submissions", submission_views.OwnSubmissions.as_view(), name="submit"),
]
urlpatterns = [
    path("v1/", include(version_1)),
    path("v1/<path:rest>", UnknownAddress.as_view()),
    path("", moved),
    path("<path:rest>", moved),
]
