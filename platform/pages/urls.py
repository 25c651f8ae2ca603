"""URLs of the pages."""

from __future__ import annotations

from django.urls import path

from pages.views import (
    account,
    competitions,
    curves,
    home,
    invitations,
    matches,
    matrices,
    rounds,
    site,
    status,
    submissions,
    teams,
)

app_name = "pages"
urlpatterns = [
    path("", home.home, name="home"),
    path("competitions/<slug:slug>", competitions.competition, name="competition"),
    path("competitions/<slug:slug>/rules", competitions.rules, name="rules"),
    path("competitions/<slug:slug>/rules/<int:old>..<int:new>", competitions.rules_difference, name="rules_diff"),
    path("competitions/<slug:slug>/rounds/<int:number>", rounds.show, name="round"),
    path("competitions/<slug:slug>/rounds/<int:number>/files/<slug:part>", rounds.released_file, name="round_file"),
    path("signing-key.txt", rounds.signing_key, name="signing_key"),
    path("signing-keys.txt", rounds.signing_keys, name="signing_keys"),
    path("competitions/<slug:slug>/leaderboards/<slug:track_name>", competitions.board, name="board"),
    path("competitions/<slug:slug>/teams/new", teams.team_new, name="team_new"),
    path("teams/<slug:slug>", teams.team, name="team"),
    path("teams/<slug:slug>/invitations", invitations.invite, name="invite"),
    path("teams/<slug:slug>/invitations/<int:number>/withdraw", invitations.withdraw, name="invitation_withdraw"),
    path("invitations/<int:number>/accept", invitations.accept, name="invitation_accept"),
    path("invitations/<int:number>/decline", invitations.decline, name="invitation_decline"),
    path("teams/<slug:slug>/members/<int:user>/remove", teams.member_remove, name="member_remove"),
    path("teams/<slug:slug>/repositories/<slug:track_name>/submit", teams.submit, name="submit"),
    path("submissions/<int:number>", submissions.submission, name="submission"),
    path("submissions/<int:number>/log", submissions.log_after, name="log_after"),
    path("submissions/<int:number>/log.txt", submissions.log_file, name="log_file"),
    path("submissions/<int:number>/withdraw", submissions.withdraw, name="withdraw"),
    path("competitions/<slug:slug>/matrix/<slug:track_name>", matrices.competition_matrix, name="matrix"),
    path("competitions/<slug:slug>/matrix/<slug:track_name>.csv", matrices.competition_matrix_csv, name="matrix_csv"),
    path(
        "competitions/<slug:slug>/rounds/<int:number>/matrix/<slug:track_name>",
        matrices.round_matrix,
        name="round_matrix",
    ),
    path(
        "competitions/<slug:slug>/rounds/<int:number>/matrix/<slug:track_name>.csv",
        matrices.round_matrix_csv,
        name="round_matrix_csv",
    ),
    path("competitions/<slug:slug>/images/<int:sample>.png", competitions.development_image, name="development_image"),
    path("competitions/<slug:slug>/curves/<slug:track_name>", curves.compare, name="curves"),
    path("competitions/<slug:slug>/curves/<slug:track_name>.csv", curves.compare_csv, name="curves_csv"),
    path("competitions/<slug:slug>/match-curves", curves.compare_matches, name="match_curves"),
    path("competitions/<slug:slug>/match-curves/<slug:name>.csv", curves.compare_matches_csv, name="match_curves_csv"),
    path("matches/<int:number>", matches.show, name="match"),
    path("matches/<int:number>/samples/<int:sample>/<slug:name>.png", matches.image, name="match_image"),
    path("matches/<int:number>/<slug:name>.csv", matches.table, name="match_table"),
    path("account", account.account, name="account"),
    path("account/tokens/<int:token>/revoke", account.token_revoke, name="token_revoke"),
    path("status", status.status, name="status"),
    path("favicon.ico", site.icon, name="icon"),
    path("robots.txt", site.robots, name="robots"),
    path(".well-known/security.txt", site.security, name="security"),
]
