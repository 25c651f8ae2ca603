"""Addresses of the API."""

from __future__ import annotations

from django.urls import include, path

from api import (
    announcement_views,
    challenge_views,
    competition_views,
    device_login_views,
    match_views,
    objection_views,
    openapi_views,
    picture_views,
    profile_views,
    round_act_views,
    round_views,
    submission_act_views,
    submission_views,
    team_views,
    team_webhook_views,
)
from api.extension_points import further_addresses
from api.unversioned_addresses import UnknownAddress, moved

app_name = "api"

_board = "competitions/<slug:slug>/leaderboards/<slug:track_name>"
_round = "competitions/<slug:slug>/rounds/<int:number>"
_objection = f"{_round}/objections/<int:objection>"
_team = "teams/<slug:team>"
_invitation = "invitations/<int:invitation>"
_webhook = f"{_team}/webhooks/<int:webhook>"
_repository = "repositories/<slug:team>/<slug:track_name>"
_build = "submissions/<int:number>/builds/<int:attempt>"
_picture = "samples/<int:sample>/<slug:name>.png"

version_1 = [
    path("", competition_views.ShowIndex.as_view(), name="index"),
    path("openapi.json", openapi_views.ShowOpenApi.as_view(), name="openapi"),
    path("docs", openapi_views.documentation, name="docs"),
    path("device/code", device_login_views.BeginDeviceLogin.as_view(), name="device_code"),
    path("device/token", device_login_views.GetDeviceToken.as_view(), name="device_token"),
    path("profile", profile_views.ShowProfile.as_view(), name="profile"),
    path("profile/teams", profile_views.ListOwnTeams.as_view(), name="own_teams"),
    path("profile/invitations", team_views.ListOwnInvitations.as_view(), name="own_invitations"),
    path(f"{_invitation}/accept", team_views.AcceptInvitation.as_view(), name="accept_invitation"),
    path(f"{_invitation}/decline", team_views.DeclineInvitation.as_view(), name="decline_invitation"),
    path(_team, team_views.ShowTeam.as_view(), name="team"),
    path(f"{_team}/terms", team_views.AcceptTerms.as_view(), name="accept_terms"),
    path(f"{_team}/members/<str:username>/remove", team_views.RemoveMember.as_view(), name="remove_member"),
    path(f"{_team}/invitations", team_views.ListInvitations.as_view(), name="invitations"),
    path(f"{_team}/{_invitation}/withdraw", team_views.WithdrawInvitation.as_view(), name="withdraw_invitation"),
    path(f"{_team}/webhooks", team_webhook_views.ListWebhooks.as_view(), name="webhooks"),
    path(_webhook, team_webhook_views.ShowWebhook.as_view(), name="webhook"),
    path(f"{_webhook}/test", team_webhook_views.SendTest.as_view(), name="test_webhook"),
    path(f"{_webhook}/enable", team_webhook_views.EnableWebhook.as_view(), name="enable_webhook"),
    path(f"{_webhook}/remove", team_webhook_views.RemoveWebhook.as_view(), name="remove_webhook"),
    path(f"{_webhook}/deliveries/<int:delivery>/send", team_webhook_views.SendAgain.as_view(), name="send_again"),
    path("competitions", competition_views.ListCompetitions.as_view(), name="competitions"),
    path("competitions/<slug:slug>", competition_views.ShowCompetition.as_view(), name="competition"),
    path("competitions/<slug:slug>/data", competition_views.ShowDataSet.as_view(), name="data"),
    path("competitions/<slug:slug>/tracks", competition_views.ListTracks.as_view(), name="tracks"),
    path("competitions/<slug:slug>/rules", competition_views.ListRules.as_view(), name="rules"),
    path("competitions/<slug:slug>/teams", team_views.ListTeams.as_view(), name="teams"),
    path("competitions/<slug:slug>/terms", team_views.ShowTerms.as_view(), name="terms"),
    path(_board, competition_views.ShowLeaderboard.as_view(), name="leaderboard"),
    path(
        "competitions/<slug:slug>/announcements", announcement_views.ListAnnouncements.as_view(), name="announcements"
    ),
    path("competitions/<slug:slug>/rounds", round_views.ListRounds.as_view(), name="rounds"),
    path(_round, round_views.ShowRound.as_view(), name="round"),
    path(f"{_round}/decisions", round_views.ListDecisions.as_view(), name="decisions"),
    path(f"{_round}/objections", objection_views.ListObjections.as_view(), name="objections"),
    path(f"{_objection}/withdraw", objection_views.WithdrawObjection.as_view(), name="withdraw_objection"),
    path(f"{_objection}/uphold", round_act_views.UpholdObjection.as_view(), name="uphold_objection"),
    path(f"{_objection}/reject", round_act_views.RejectObjection.as_view(), name="reject_objection"),
    path(f"{_round}/entries", round_act_views.ListEntries.as_view(), name="round_entries"),
    path(f"{_round}/preview", round_act_views.ShowPreview.as_view(), name="preview"),
    path(f"{_round}/freeze", round_act_views.FreezeRound.as_view(), name="freeze_round"),
    path(f"{_round}/start", round_act_views.StartRound.as_view(), name="start_round"),
    path(f"{_round}/pause", round_act_views.PauseRound.as_view(), name="pause_round"),
    path(f"{_round}/resume", round_act_views.ResumeRound.as_view(), name="resume_round"),
    path(f"{_round}/cancel", round_act_views.CancelRound.as_view(), name="cancel_round"),
    path(f"{_round}/publish", round_act_views.PublishRound.as_view(), name="publish_round"),
    path(f"{_round}/release", round_act_views.ReleasePart.as_view(), name="release_part"),
    path(f"{_round}/withdraw", round_act_views.WithdrawPart.as_view(), name="withdraw_part"),
    path(f"{_round}/window/open", round_act_views.OpenWindow.as_view(), name="open_window"),
    path(f"{_round}/window/extend", round_act_views.ExtendWindow.as_view(), name="extend_window"),
    path(f"{_round}/window/end", round_act_views.EndWindow.as_view(), name="end_window"),
    # the key of a pair has a slash
    path(f"{_round}/matches/<path:key>/{_picture}", match_views.ShowRoundMatchPicture.as_view(), name="round_picture"),
    path(
        f"competitions/<slug:slug>/matches/<path:key>/{_picture}",
        match_views.ShowMatchPicture.as_view(),
        name="match_picture",
    ),
    path(f"{_round}/matches/<path:key>", match_views.ShowRoundMatch.as_view(), name="round_match"),
    path("competitions/<slug:slug>/matches/<path:key>", match_views.ShowMatch.as_view(), name="match"),
    path("signing-keys", round_views.ListSigningKeys.as_view(), name="signing_keys"),
    path("submissions", submission_views.ListSubmissions.as_view(), name="submissions"),
    path("submissions/<int:number>", submission_views.ShowSubmission.as_view(), name="submission"),
    path("submissions/<int:number>/log", submission_views.ShowLog.as_view(), name="log"),
    path("submissions/<int:number>/evaluations", submission_views.ListEvaluations.as_view(), name="evaluations"),
    path("submissions/<int:number>/matches", match_views.ListMatches.as_view(), name="matches"),
    path("submissions/<int:number>/challenges", challenge_views.ListChallenges.as_view(), name="challenges"),
    path(
        "submissions/<int:number>/challenges/<int:challenge>", challenge_views.ShowChallenge.as_view(), name="challenge"
    ),
    path(
        f"submissions/<int:number>/challenges/<int:challenge>/{_picture}",
        challenge_views.ShowChallengePicture.as_view(),
        name="challenge_picture",
    ),
    path(f"{_build}/samples", picture_views.ListSmokeSamples.as_view(), name="smoke_samples"),
    path(f"{_build}/{_picture}", picture_views.ShowSmokePicture.as_view(), name="smoke_picture"),
    path("submissions/<int:number>/opponents", challenge_views.ListOpponents.as_view(), name="opponents"),
    path("submissions/<int:number>/withdraw", submission_views.WithdrawSubmission.as_view(), name="withdraw"),
    path("submissions/<int:number>/choose", submission_views.ChooseSubmission.as_view(), name="choose"),
    path("submissions/<int:number>/retry", submission_act_views.RetrySubmission.as_view(), name="retry"),
    path("submissions/<int:number>/refund", submission_act_views.RefundSlot.as_view(), name="refund"),
    path(
        "submissions/<int:number>/re-evaluate", submission_act_views.ReEvaluateSubmission.as_view(), name="re_evaluate"
    ),
    path("submissions/<int:number>/disqualify", submission_act_views.DisqualifySubmission.as_view(), name="disqualify"),
    path("submissions/<int:number>/reinstate", submission_act_views.ReinstateSubmission.as_view(), name="reinstate"),
    path(f"{_repository}/choose-newest", submission_views.ChooseNewest.as_view(), name="choose_newest"),
    path(f"{_repository}/quota", submission_views.ShowQuota.as_view(), name="quota"),
    path(f"{_repository}/submissions", submission_views.OwnSubmissions.as_view(), name="submit"),
    *(address for addresses in further_addresses.answers() for address in addresses),
]
urlpatterns = [
    path("v1/", include(version_1)),
    path("v1/<path:rest>", UnknownAddress.as_view()),
    path("", moved),
    path("<path:rest>", moved),
]
