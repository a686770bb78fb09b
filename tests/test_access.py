"""Keys and the callers they stand for."""

import pytest
from starlette.datastructures import Headers

from proxy.access import Access, Caller
from proxy.grounding.errors import Forbidden, Unauthenticated
from proxy.settings import Settings, Tenant, sha256_of

ACME = Tenant(id="acme", policy="acme", policies=("strict",), key_sha256=(sha256_of("key-1"), sha256_of("key-2")))
BETA = Tenant(id="beta", key_sha256=(sha256_of("key-3"),))
ACCESS = Access(Settings(tenants=(ACME, BETA)))


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer key-1"},
        {"Authorization": "bearer  key-1 "},
        {"api-key": "key-1"},
        {"Api-Key": "key-2"},
        {"x-api-key": "key-2"},
        {"Ocp-Apim-Subscription-Key": "key-1"},
        {"x-goog-api-key": "key-1"},
        {"Authorization": "Basic abc", "x-api-key": "key-1"},
        {"Authorization": "Bearer other", "x-api-key": "key-1"},
        Headers({"X-API-KEY": "key-1"}),
    ],
)
def test_a_key_is_found_in_any_of_its_headers(headers):
    """Every dialect's header carries the key, in any case; each key of a tenant counts, and others beside it do not."""
    assert ACCESS.identify(headers) == Caller(tenant="acme", policy="acme", allowed=frozenset({"acme", "strict"}))


def test_each_key_is_its_tenants():
    """Another key is another caller; a tenant that names no policy is under default."""
    assert ACCESS.identify({"api-key": "key-3"}) == Caller(
        tenant="beta", policy="default", allowed=frozenset({"default"})
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic key-1"},
        {"authorization": "key-1"},
        {"api-key": " "},
    ],
)
def test_no_key_is_told_how_to_send_one(headers):
    """A request without a key gets a 401 that names the headers."""
    with pytest.raises(Unauthenticated, match="You didn't provide an API key") as caught:
        ACCESS.identify(headers)
    assert caught.value.status == 401
    assert caught.value.code == "invalid_api_key"


@pytest.mark.parametrize("key", ["sk-wrong", "key-1x", "KEY-1", sha256_of("key-1"), "schlüssel", "\udcff", "x" * 10000])
def test_an_unknown_key_is_refused_and_not_repeated(key):
    """A wrong key, even a tenant's digest itself, gets a 401 that does not hold it."""
    with pytest.raises(Unauthenticated, match="Incorrect API key") as caught:
        ACCESS.identify({"authorization": f"Bearer {key}"})
    assert key not in caught.value.message


def test_without_tenants_everyone_is_the_one_tenant():
    """A key sent anyway is ignored."""
    access = Access(Settings())

    assert access.identify({}) == access.identify({"api-key": "any"})
    assert access.identify({}) == Caller(tenant="default", policy="default", allowed=frozenset({"default"}))


def test_a_caller_may_name_its_own_policies_only():
    """Its own and those listed are allowed, its own applies when it names none, and others' existence is not told."""
    caller = ACCESS.identify({"api-key": "key-1"})

    assert [ACCESS.choose(caller, name) for name in (None, "acme", "strict")] == ["acme", "acme", "strict"]
    messages = set()
    for name in ("default", "no-such-policy", ""):
        with pytest.raises(Forbidden) as caught:
            ACCESS.choose(caller, name)
        messages.add(caught.value.message)
        assert caught.value.status == 403
    assert len(messages) == 1
