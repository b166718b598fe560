from pplx_gateway.upstreams.api.signatures import MAX_SIGNATURE_CHARACTERS, Signatures


def test_a_signature_is_found_again_by_its_caller_only() -> None:
    signatures = Signatures()
    signatures.keep("alice", "call_1", "c2ln")
    assert signatures.find("alice", "call_1") == "c2ln"
    assert signatures.find("bob", "call_1") is None
    assert signatures.find("alice", "call_2") is None


def test_the_one_unused_for_longest_makes_room() -> None:
    signatures = Signatures(capacity=2)
    signatures.keep("a", "1", "one")
    signatures.keep("a", "2", "two")
    assert signatures.find("a", "1") == "one"
    signatures.keep("a", "3", "three")
    assert [signatures.find("a", call_id) for call_id in "123"] == ["one", None, "three"]


def test_a_monster_is_not_kept() -> None:
    signatures = Signatures()
    signatures.keep("a", "1", "x" * (MAX_SIGNATURE_CHARACTERS + 1))
    assert signatures.find("a", "1") is None
