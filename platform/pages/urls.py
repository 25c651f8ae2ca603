"""URLs of the pages."""

from __future__ import annotations

from django.urls import path, register_converter

from pages.account import device_views as devices
from pages.account import views as account
from pages.board import curve_views as curves
from pages.board import history_views as history
from pages.board import views as boards
from pages.competition import announcement_views as announcements
from pages.competition import feed_views as feeds
from pages.competition import page_and_terms_views as written
from pages.competition import views as competitions
from pages.directory import views as directory
from pages.formats import page_formats
from pages.manual import views as manual
from pages.matrix import views as matrices
from pages.path_converters import KeyConverter
from pages.round import gallery_views as galleries
from pages.round import objection_views as objections
from pages.round import views as rounds
from pages.share import views as share
from pages.site import brand_views as brand
from pages.site import home_views as home
from pages.site import kit_views as kit
from pages.site import time_zone_views
from pages.site import well_known_views as site
from pages.status import views as status
from pages.submission import views as submissions
from pages.team import invitation_views as invitations
from pages.team import views as teams
from pages.team import webhook_views as webhooks

app_name = "pages"

register_converter(KeyConverter, "key")
urlpatterns = [
    path("", home.home, name="home"),
    path("competitions", directory.competitions, name="competitions"),
    path("leaderboards", directory.leaderboards, name="leaderboards"),
    path("teams", directory.teams, name="teams"),
    path("people/<str:username>", directory.person, name="person"),
    path("search", directory.search, name="search"),
    path("docs", home.docs, name="docs"),
    path("docs/search", manual.found, name="manual_search"),
    path("docs/images/<str:name>", manual.image, name="manual_image"),
    path("docs/<path:name>", manual.show, name="manual"),
    path("kit/", kit.show, name="kit"),
    path("kit/requirements.txt", kit.requirements, name="kit_requirements"),
    path("kit/requirements-players.txt", kit.requirements_players, name="kit_requirements_players"),
    path("kit/constraints.txt", kit.pins, name="kit_pins"),
    path("kit/files/<slug:key>/<str:name>", kit.file, name="kit_file"),
    path("kit/simple/", kit.index, name="kit_index"),
    path("kit/simple/<slug:name>/", kit.project, name="kit_project"),
    path("competitions/<slug:slug>", competitions.competition, name="competition"),
    path("competitions/<slug:slug>/calendar.ics", competitions.calendar_ics, name="calendar_ics"),
    path("competitions/<slug:slug>/rules", competitions.rules, name="rules"),
    path("competitions/<slug:slug>/rules/<int:old>..<int:new>", competitions.rules_difference, name="rules_diff"),
    path("competitions/<slug:slug>/rounds/<int:number>", rounds.show, name="round"),
    path("competitions/<slug:slug>/rounds/<int:number>/files/<slug:part>", rounds.released_file, name="round_file"),
    path("competitions/<slug:slug>/rounds/<int:number>/figures/<slug:name>.csv", rounds.figure_csv, name="figure_csv"),
    path("competitions/<slug:slug>/rounds/<int:number>/figures/<slug:name>.svg", rounds.figure_svg, name="figure_svg"),
    path("competitions/<slug:slug>/rounds/<int:number>/objections/new", objections.objection_new, name="objection_new"),
    path(
        "competitions/<slug:slug>/rounds/<int:number>/objections/<key:objection>/withdraw",
        objections.objection_withdraw,
        name="objection_withdraw",
    ),
    path("competitions/<slug:slug>/pages/<slug:name>", written.page, name="page"),
    path("competitions/<slug:slug>/terms", written.terms, name="terms"),
    path("competitions/<slug:slug>/terms/accept", written.accept_terms, name="terms_accept"),
    path("competitions/<slug:slug>/data", written.data, name="data"),
    path("competitions/<slug:slug>/citation", written.citation, name="citation"),
    path("competitions/<slug:slug>/citation.bib", written.citation_file, name="citation_file"),
    path("competitions/<slug:slug>/news", announcements.news, name="news"),
    path("competitions/<slug:slug>/feed.atom", feeds.competition_feed, name="feed"),
    path("pages/<slug:name>", written.site_page, name="site_page"),
    path("signing-key.txt", rounds.signing_key, name="signing_key"),
    path("signing-keys.txt", rounds.signing_keys, name="signing_keys"),
    path("competitions/<slug:slug>/leaderboards/<slug:track_name>", boards.board, name="board"),
    path("competitions/<slug:slug>/leaderboards/<slug:track_name>.csv", boards.board_csv, name="board_csv"),
    path("competitions/<slug:slug>/leaderboards/<slug:track_name>/feed.atom", feeds.track_feed, name="track_feed"),
    path("competitions/<slug:slug>/teams/new", teams.team_new, name="team_new"),
    path("competitions/<slug:slug>/share.png", share.competition, name="share_competition"),
    path("competitions/<slug:slug>/leaderboards/<slug:track_name>/share.png", share.board, name="share_board"),
    path("competitions/<slug:slug>/rounds/<int:number>/share.png", share.round_, name="share_round"),
    path("teams/<slug:slug>", teams.team, name="team"),
    path("teams/<slug:slug>/feed.atom", feeds.team_feed, name="team_feed"),
    path("teams/<slug:slug>/invitations", invitations.invite, name="invite"),
    path("teams/<slug:slug>/invitations/<int:number>/withdraw", invitations.withdraw, name="invitation_withdraw"),
    path("invitations/<int:number>/accept", invitations.accept, name="invitation_accept"),
    path("invitations/<int:number>/decline", invitations.decline, name="invitation_decline"),
    path("teams/<slug:slug>/members/<key:user>/remove", teams.member_remove, name="member_remove"),
    path("teams/<slug:slug>/repositories/<slug:track_name>/submit", teams.submit, name="submit"),
    path("teams/<slug:slug>/webhooks", webhooks.webhooks, name="webhooks"),
    path("teams/<slug:slug>/webhooks/<int:number>", webhooks.webhook, name="webhook"),
    path("teams/<slug:slug>/webhooks/<int:number>/test", webhooks.test, name="webhook_test"),
    path("teams/<slug:slug>/webhooks/<int:number>/enable", webhooks.enable, name="webhook_enable"),
    path("teams/<slug:slug>/webhooks/<int:number>/remove", webhooks.remove, name="webhook_remove"),
    path(
        "teams/<slug:slug>/webhooks/<int:number>/deliveries/<int:delivery>/send",
        webhooks.send_again,
        name="webhook_send_again",
    ),
    path("submissions/<int:number>", submissions.submission, name="submission"),
    path("submissions/<int:number>/log", submissions.log_after, name="log_after"),
    path("submissions/<int:number>/log.txt", submissions.log_file, name="log_file"),
    path(
        "submissions/<int:number>/builds/<int:attempt>/samples/<int:sample>/<slug:name>.png",
        submissions.smoke_picture,
        name="smoke_picture",
    ),
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
    path(
        "competitions/<slug:slug>/rounds/<int:number>/gallery/<slug:track_name>",
        galleries.round_gallery,
        name="round_gallery",
    ),
    path("competitions/<slug:slug>/development.zip", written.development_archive, name="development_archive"),
    path("competitions/<slug:slug>/images/<int:sample>.png", competitions.development_image, name="development_image"),
    path("competitions/<slug:slug>/curves/<slug:track_name>", curves.compare, name="curves"),
    path("competitions/<slug:slug>/curves/<slug:track_name>.csv", curves.compare_csv, name="curves_csv"),
    path("competitions/<slug:slug>/history/<slug:track_name>", history.show, name="history"),
    path("competitions/<slug:slug>/history/<slug:track_name>/<slug:name>.csv", history.table, name="history_table"),
    path("competitions/<slug:slug>/history/<slug:track_name>/<slug:name>.svg", history.drawing, name="history_drawing"),
    path("teams/<slug:slug>/history/<slug:track_name>/<slug:name>.csv", history.team_table, name="team_history"),
    path("account", account.account, name="account"),
    path("device", devices.device, name="device"),
    path("account/tokens/<int:token>/revoke", account.token_revoke, name="token_revoke"),
    path("status", status.status, name="status"),
    path("brand/logo", brand.logo, name="logo"),
    path("brand/style.css", brand.style, name="brand_style"),
    path("share.png", share.site, name="share_site"),
    path("time-zone", time_zone_views.time_zone, name="time_zone"),
    path("favicon.ico", site.icon, name="icon"),
    path("robots.txt", site.robots, name="robots"),
    path("sitemap.xml", site.sitemap, name="sitemap"),
    path(".well-known/security.txt", site.security, name="security"),
    *(address for name in page_formats for address in page_formats[name].urls()),
]
