"""What people do and download on pages has an operation of the API, or needs none."""

from __future__ import annotations

from api.urls import version_1
from pages.urls import urlpatterns

OPERATIONS = {
    "competitions": "competitions", "teams": "teams", "competition": "competition", "rules": "rules",
    "rules_diff": "rules", "round": "round", "terms": "terms", "terms_accept": "accept_terms", "data": "data",
    "news": "announcements", "signing_key": "signing_keys", "signing_keys": "signing_keys", "board": "leaderboard",
    "leaderboards": "leaderboard", "board_csv": "leaderboard", "team": "team", "team_new": "teams",
    "invite": "invitations", "invitation_withdraw": "withdraw_invitation", "invitation_accept": "accept_invitation",
    "invitation_decline": "decline_invitation", "member_remove": "remove_member", "submit": "submit",
    "objection_new": "objections", "objection_withdraw": "withdraw_objection", "webhooks": "webhooks",
    "webhook": "webhook", "webhook_test": "test_webhook", "webhook_enable": "enable_webhook",
    "webhook_remove": "remove_webhook", "webhook_send_again": "send_again", "submission": "submission",
    "log_after": "log", "log_file": "log", "smoke_picture": "smoke_picture", "withdraw": "withdraw",
    "status": "status", "match": "match", "match_image": "match_picture", "match_table": "match",
    "challenge_request": "challenges", "challenge_new": "opponents", "challenge": "challenge",
    "challenge_image": "challenge_picture", "choose": "choose", "choose_newest": "choose_newest",
    "round_bracket": "decisions", "transfer_pair": "match", "round_pair": "round_match",
    "round_image": "round_picture", "best_known": "submission", "best_known_csv": "submission",
    "proof_upload": "proofs", "proof_images": "proof_images", "account": "profile",
}  # fmt: skip
"""The operation that shows or does the same, by the name of each page."""

WITHOUT_TOKEN = {
    *("kit_requirements", "kit_requirements_players", "kit_pins", "kit_file", "kit_index", "kit_project"),
    *("round_file", "development_archive", "development_image"),  # the API has their addresses
    *("figure_csv", "figure_svg", "matrix_csv", "round_matrix_csv", "curves_csv", "match_curves_csv"),
    *("history_table", "history_drawing", "team_history"),
    *("feed", "track_feed", "team_feed", "calendar_ics", "citation_file", "robots", "sitemap", "security"),
    *("share_site", "share_competition", "share_board", "share_round", "logo", "brand_style", "icon", "manual_image"),
}
"""Files that a program reads as everybody does, without a token."""

FOR_PEOPLE = {
    *("home", "docs", "manual", "manual_search", "kit", "page", "site_page", "citation", "search", "person"),
    *("matrix", "round_matrix", "round_gallery", "curves", "history", "match_curves"),  # drawn from matches and boards
    *("device", "token_revoke"),  # a token makes and revokes no token
    "time_zone",
}
"""Pages that show in another form what operations have, and those that are for a browser alone."""


def test_every_page_has_an_operation_or_needs_none() -> None:
    pages = {each.name for each in urlpatterns}
    assert pages == {*OPERATIONS, *WITHOUT_TOKEN, *FOR_PEOPLE}
    assert not (OPERATIONS.keys() & WITHOUT_TOKEN) | (OPERATIONS.keys() & FOR_PEOPLE) | (WITHOUT_TOKEN & FOR_PEOPLE)
    assert set(OPERATIONS.values()) <= {each.name for each in version_1}
