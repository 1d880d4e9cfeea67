"""Signing in with an OpenID Connect provider in a browser, and what a role shows."""

import re
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import assert_accessible, follow
from support.oidc_provider import CLIENT_SECRET, oidc_provider
from support.tarsy_process import Served, served

CONFIG = """\
system:
  dashboard_url: {url}
  oidc:
    issuer: {issuer}
    client_id: tarsy
    label: Example SSO
    scopes: [openid, profile, groups]
    roles:
      - {{claim: groups, value: viewers, role: viewer}}
      - {{claim: groups, value: admins, role: admin}}
"""


@pytest.fixture(scope="module")
def guarded(server: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A second process on the same database, with a provider of its own."""
    directory = tmp_path_factory.mktemp("oidc")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with oidc_provider(f"{url}/api/v1/sign-in/callback", url) as issuer:
        (directory / "tarsy.yaml").write_text(CONFIG.format(url=url, issuer=issuer))
        env = {"TARSY_DATA_DIR": server.env["TARSY_DATA_DIR"], "TARSY_OIDC_CLIENT_SECRET": CLIENT_SECRET}
        with served(directory, "--role", "api", "--port", str(port), "--config", str(directory), env=env) as running:
            yield running


@contextmanager
def visiting(browser: Browser, url: str) -> Generator[Page]:
    """A page that may go to the provider; the fonts of the provider's pages are not fetched."""
    with browser.new_context(base_url=url) as context:
        context.route("https://**", lambda route: route.abort())
        yield context.new_page()


def sign_in(page: Page, person: str) -> None:
    """Sign in at the provider's own pages."""
    page.get_by_role("link", name="Sign in with Example SSO").click()
    page.get_by_placeholder("Enter any login").fill(person)
    page.get_by_placeholder("and password").fill("x")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


# Pages with controls that a viewer may not use, and one control of each; `None`: the page itself is refused.
DENIED = {
    "/sessions/{crashloop}": "Resubmit",
    "/alerts/new": "Submit alert",
    "/notifications": "Send again",
    "/incidents": "Mute alerts",
    "/audit": None,
    # The last one: it is reached with the pointer, after which a focus set by script shows no tooltip.
    "/sessions/{crashloop}/trace": "Fork from here",
}


def test_a_viewer_signs_in_sees_what_the_role_does_not_allow_and_signs_out(
    browser: Browser, guarded: Served, finished: dict[str, str]
) -> None:
    with visiting(browser, guarded.url) as page:
        page.goto("/system")
        page.get_by_role("heading", name="Log in to TARSy").wait_for()
        assert_accessible(page, "sign-in")
        sign_in(page, "viewer")
        expect(page).to_have_url(f"{guarded.url}/system")
        page.get_by_text("viewer (viewer)").wait_for()
        expect(page.get_by_role("button", name="Reload configuration")).to_be_disabled()
        page.get_by_label("This needs the role responder.").first.wait_for()
        expect(page.get_by_role("region", name="API tokens")).to_have_count(0)
        # A fork needs a model, and this server has none.
        page.route("**/api/v1/models", lambda route: route.fulfill(json={"models": [{"name": "local", "model": "local"}]}))
        for address, control in DENIED.items():
            follow(page, address.format(**finished))
            if control is None:
                expect(page.get_by_role("alert")).to_contain_text("admin")
            elif control == "Fork from here":
                page.get_by_role("list", name="Calls").get_by_role("button").filter(has_text="Turn 1").click()
                page.get_by_role("button", name=control).hover()
                expect(page.get_by_role("tooltip")).to_have_text("This needs the role responder.")
                assert_accessible(page, "viewer-fork", page.get_by_role("button", name=control).locator(".."))
            else:
                disabled = page.get_by_role("group", name="This needs the role responder.").filter(has_text=control).first
                # The keyboard reaches the reason.
                disabled.focus()
                expect(page.get_by_role("tooltip")).to_have_text("This needs the role responder.")
                expect(disabled.get_by_text(control)).to_be_disabled()
            # The other controls look like those of the first page.
            if control == "Resubmit":
                assert_accessible(page, "viewer-session", page.get_by_role("main"))
        page.get_by_role("button", name="Log out").click()
        # The provider asks whether to sign out there, too.
        page.get_by_role("button", name=re.compile("Yes", re.IGNORECASE)).click()
        page.get_by_role("heading", name="Log in to TARSy").wait_for()


def test_an_admin_creates_a_token_which_is_shown_once_and_revokes_it(browser: Browser, guarded: Served) -> None:
    with visiting(browser, guarded.url) as page:
        page.goto("/system")
        sign_in(page, "admin")
        tokens = page.get_by_role("region", name="API tokens")
        # By keyboard: what loads above moves the button away between the press of the pointer and its release.
        tokens.get_by_role("button", name="New token").press("Enter")
        page.get_by_label("Name").fill("ci-bot")
        assert_accessible(page, "token-new")
        page.get_by_role("button", name="Create").click()
        secret = page.get_by_test_id("token").text_content() or ""
        assert_accessible(page, "token-created")
        page.get_by_role("button", name="Done").click()
        with guarded.client() as http:
            headers = {"Authorization": f"Bearer {secret}"}
            assert http.get("/api/v1/me", headers=headers).json()["role"] == "responder"
            tokens.get_by_role("button", name="Revoke ci-bot").click()
            page.get_by_role("dialog").get_by_role("button", name="Revoke").wait_for()
            assert_accessible(page, "token-revoke")
            page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
            # Visible only when the dialog is gone, which hides the rest of the page.
            tokens.get_by_text("There are none in the database.").wait_for()
            assert http.get("/api/v1/sessions", headers=headers).status_code == 401
        assert_accessible(page, "system-admin", tokens)
