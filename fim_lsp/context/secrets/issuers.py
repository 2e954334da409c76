"""
What issuers of tokens published of their forms: prefixes, alphabets, lengths. Data. Pure.

The facts are those that gitleaks (its rule list of 2026-07), detect-secrets and the issuers' own
pages name. Adding an issuer is adding a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Prefixes that end with a sign: the name, how many characters at least follow in a whole token, the
# prefixes. A name with `?` has prefixes that ordinary names begin with, too.
_PREFIXES = """
GitHub: 36: ghp_ gho_ ghu_ ghs_ ghr_
GitHub?: 36: github_pat_
GitLab: 20: glpat- gldt- glrt- glptt- glcbt- glft- glagent- gloas- glsoat- glimt- glffct-
Slack: 16: xoxb- xoxp- xoxa- xoxe- xoxo- xoxr- xoxs- xapp- xoxe.xoxp- xoxe.xoxb-
Stripe: 16: sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_
Stripe?: 24: whsec_
OpenAI: 20: sk-proj- sk-svcacct- sk-admin-
OpenAI?: 20: sk-
Anthropic: 20: sk-ant-
OpenRouter: 20: sk-or-v1-
Groq?: 40: gsk_
Replicate?: 30: r8_
Perplexity?: 40: pplx-
xAI?: 40: xai-
Hugging Face?: 30: hf_ api_org_
LangSmith: 32: lsv2_pt_ lsv2_sk_
Tavily?: 20: tvly-
NVIDIA: 40: nvapi-
Pinecone?: 40: pcsk_
npm?: 30: npm_
PyPI?: 50: pypi-
RubyGems?: 40: rubygems_
Docker: 20: dckr_pat_ dckr_oat_
Grafana: 32: glsa_
Grafana?: 30: glc_
DigitalOcean: 32: dop_v1_ doo_v1_ dor_v1_
Heroku: 32: HRKU-
Shopify: 32: shpat_ shpca_ shppa_ shpss_
Square: 22: sq0csp- sq0atp- sq0idp-
SendGrid?: 40: SG.
Brevo: 32: xkeysib- xsmtpsib-
Mailgun?: 32: key- pubkey-
Resend?: 24: re_
Vault: 24: hvs. hvb. hvr.
Linear?: 32: lin_api_ lin_oauth_
Notion?: 40: ntn_ secret_
New Relic: 19: NRAK- NRII- NRJS- NRRA- NRIQ- NRSP-
Sentry: 32: sntryu_ sntrys_
Doppler: 32: dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.
Dynatrace: 32: dt0c01. dt0s01. dt0s16.
Fly.io?: 40: fo1_ fm1a_ fm1r_ fm2_
PlanetScale: 32: pscale_tkn_ pscale_oauth_ pscale_pw_
Postman: 24: PMAK-
Pulumi?: 40: pul-
Prefect?: 30: pnu_ pnb_
ReadMe?: 40: rdme_
Sourcegraph?: 30: sgp_ slk_
SonarQube?: 30: sqp_ squ_ sqa_
Supabase?: 30: sbp_ sb_secret_
Vercel: 20: vercel_blob_rw_
Shippo?: 32: shippo_live_ shippo_test_
Octopus?: 20: API-
Flutterwave: 12: FLWSECK_TEST- FLWSECK- FLWPUBK_TEST-
Figma: 32: figd_ figu_
Contentful: 32: CFPAT-
Duffel?: 32: duffel_live_ duffel_test_
Clojars: 40: CLOJARS_
Tailscale: 20: tskey-
Intra: 40: s-s4t2ud- s-s4t2af-
frame.io: 40: fio-u-
Scalingo?: 40: tk-us-
Infracost?: 30: ico-
Adobe?: 30: p8e-
Defined Networking: 40: dnkey-
Harness?: 60: pat. sat.
Google: 20: GOCSPX-
Google?: 20: ya29.
Cloudflare?: 90: v1.0-
OpenShift: 40: sha256~
"""


class Issuer(NamedTuple):
    """A whole token has *length* characters behind its prefix; *doubtful*: names begin so, too."""

    name: str
    length: int
    doubtful: bool


class Form(NamedTuple):
    """
    A token with the literal *mark* in it, and its form from there on; *late*: it begins before.

    *growing* is the form of the beginning of one that ends a text.
    """

    name: str
    mark: str
    pattern: re.Pattern[str]
    growing: re.Pattern[str]
    late: bool


def _issuers() -> dict[str, Issuer]:
    found: dict[str, Issuer] = {}
    for row in _PREFIXES.strip().split("\n"):
        name, length, prefixes = row.split(": ")
        issuer = Issuer(f"{name.rstrip('?')} token", int(length), name.endswith("?"))
        found |= dict.fromkeys(prefixes.split(), issuer)
    return found


ISSUERS = _issuers()
"""By prefix."""

_FIRST = {  # the mark, which no letter or digit stands in front of, and what follows
    "AKIA": ("AWS key id", r"[A-Z0-9]{16,}"),
    "ASIA": ("AWS key id", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "ABIA": ("AWS key id", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "ACCA": ("AWS key id", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    "A3T": ("AWS key id", r"[A-Z0-9]{17}(?![A-Za-z0-9])"),
    "ABSK": ("AWS Bedrock key", r"[A-Za-z0-9+/]{100,}"),
    "AIza": ("Google key", r"[\w-]{35,}"),
    "1//0": ("Google token", r"[\w-]{40,}"),
    "ATATT3": ("Atlassian token", r"[\w=-]{20,}"),
    "ATBB": ("Atlassian token", r"[A-Za-z0-9]{24,}"),
    "GR1348941": ("GitLab token", r"[\w-]{20,}"),
    "LTAI": ("Alibaba key id", r"[A-Za-z0-9]{17,}"),
    "AKCp": ("Artifactory key", r"[A-Za-z0-9]{60,}"),
    "cmVmd": ("Artifactory token", r"[A-Za-z0-9]{59,}"),
    "dapi": ("Databricks token", r"[0-9a-f]{32,}"),
    "EZAK": ("Easypost key", r"[A-Za-z0-9]{50,}"),
    "EZTK": ("Easypost key", r"[A-Za-z0-9]{50,}"),
    "EAAA": ("Square token", r"[\w-]{50,}"),
    "EAAC": ("Facebook token", r"[\w-]{90,}"),
    "EAAM": ("Facebook token", r"[\w-]{90,}"),
    "AGE-SECRET-KEY-1": ("age key", r"[0-9A-Z]{58}"),
    "ops_eyJ": ("1Password token", r"[A-Za-z0-9+/=]{100,}"),
    "A3-": ("1Password key", r"[A-Z0-9]{6}-[A-Z0-9-]{24,}"),
    "SK": ("Twilio key", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    "pat": ("Airtable token", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    "cio": ("crates.io token", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    "LS0tLS1CRUdJT": ("private key in base64", r"[A-Za-z0-9+/=]{40,}"),
    "hooks.slack.com/": ("webhook", r"(?:services|workflows|triggers)/[\w/+]{20,}"),
    "webhook.office.com/": ("webhook", r"webhookb2/[\w@/-]{60,}"),
    "discord.com/": ("webhook", r"api/webhooks/\d{1,20}/[\w-]{40,}"),
    "discordapp.com/": ("webhook", r"api/webhooks/\d{1,20}/[\w-]{40,}"),
    "$2": ("password hash", r"[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    "$6$": ("password hash", r"(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,32}\$[./A-Za-z0-9]{22,90}"),
    "$apr1$": ("password hash", r"[./A-Za-z0-9]{1,32}\$[./A-Za-z0-9]{22}"),
}
_LATE = {  # the mark in the midst of a token, what stands before it, what follows
    ":AA": ("Telegram token", r"\d{8}", r"[\w-]{32,}"),
    "Q~": ("Azure secret", r"[\w~.]{3}\d", r"[\w~.-]{31,34}"),
    ".": ("Discord token", r"[\w-]{24}\.[\w-]{6}", r"[\w-]{27,45}(?![\w-])"),
    "-us": ("Mailchimp key", r"[0-9a-f]{32}", r"\d{1,2}(?![\w-])"),
    "NRAL": ("New Relic key", r"[0-9a-f]{36}", ""),
    ".atlasv1.": ("Terraform token", r"[A-Za-z0-9]{14}", r"[\w=-]{60,70}"),
    "_mmk": ("MaxMind key", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", ""),
}


def _form(name: str, mark: str, before: str, after: str) -> Form:
    """The mark comes first in the pattern: `re` looks for a literal twenty times faster."""
    literal = re.escape(mark)
    look = f"(?<={before}{literal})" if before else f"(?<![A-Za-z0-9]{literal})"
    pattern, growing = literal + look + after, literal + look + r"[\w./+=~@-]{1,500}\Z"
    return Form(name, mark, re.compile(pattern), re.compile(growing), bool(before))


FORMS = (
    *(_form(name, mark, "", after) for mark, (name, after) in _FIRST.items()),
    *(_form(name, mark, before, after) for mark, (name, before, after) in _LATE.items()),
)
"""Tokens whose prefix ends with no sign, or that are known by more than a prefix."""

TYPED_FIRST = (
    "AKIA",
    "AIza",
    "1//0",
    "ATATT3",
    "ATBB",
    "GR1348941",
    "AKCp",
    "AGE-SECRET-KEY-1",
    "ops_eyJ",
    "eyJ",
)
"""Prefixes without a sign at the end that no name begins with: enough to know a token being typed."""

TYPED_QUOTED = frozenset({"sk-", "xai-", "gsk_", "pplx-", "whsec_", "github_pat_"})
"""Likewise for prefixes with a sign at the end, where a string or a value begins with them."""
