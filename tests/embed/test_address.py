"""Where memories may be sent: this machine over http, elsewhere over https, and nowhere in disguise."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import CONFIG, MnemonError
from mnemond.http import Address, parse
from tests.tables import each_row


@each_row(
    ("url", "origin", "path"),
    [
        ("http://localhost:11434", "http://localhost:11434", ""),
        ("HTTP://LocalHost:80/", "http://localhost", ""),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080", "/v1"),
        ("http://127.255.3.4", "http://127.255.3.4", ""),
        ("http://[::1]:9/a/b", "http://[::1]:9", "/a/b"),
        ("https://api.example.com/v1", "https://api.example.com", "/v1"),
        ("https://10.0.0.7:8443", "https://10.0.0.7:8443", ""),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example", ""),
    ],
)
def test_an_address_is_read(url: str, origin: str, path: str) -> None:
    address = parse(url, "x")
    assert (address.origin, address.path) == (origin, path)
    assert address.loopback is url.lower().startswith("http:")


@each_row(
    "url",
    [
        "http://example.com",
        "http://10.0.0.7:11434",
        "http://192.168.1.5",
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]:11434",
        "https://[::ffff:169.254.169.254]",
        "https://[fe80::1]",
        "http://0.0.0.0:11434",
        "https://0.0.0.0",
        "http://[::]:11434",
        "https://224.0.0.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://0x7f.1",
        "http://127.1",
        "http://0177.0.0.1",
        "https://127.0.0.01",
        "https://2852039166/latest/meta-data",
        "https://0xa9fea9fe",
        "https://0xa9.0xfe.0xa9.0xfe",
        "https://0251.0376.0251.0376",
        "https://169.254.43518",
        "https://169.16689662",
        "http://localhost.:11434",
        "http://localhost.example.com",
        "http://127.0.0.1.nip.io",
        "http://user@localhost",
        "http://user:password@localhost:11434",
        "http://localhost@evil.example",
        "http://localhost:11434?key=1",
        "http://localhost:11434#x",
        "http://localhost:0",
        "http://localhost:65536",
        "http://localhost:1:2",
        "http://localhost\\@evil.example",
        "http://local host",
        "http://localhost\n",
        "http://localhost/\r\nX: y",
        "http:/localhost",
        "//localhost",
        "localhost:11434",
        "ftp://localhost",
        "file:///etc/passwd",
        "unix:///run/x",
        "https://-a.example",
        "https://a..example",
        "https://ex%61mple.com",
        "https://bücher.example",
        "https://[::1",
        "https://[1:2]",
        "https://" + "a" * 64 + ".example",
        "https://example.com/" + "a" * 2_000,
        "",
    ],
)
def test_anything_else_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(MnemonError) as caught:
        parse(url, "embedding.endpoint")
    assert caught.value.kind is CONFIG
    assert caught.value.message.startswith("embedding.endpoint ")
    assert "password" not in caught.value.message.replace("user, password,", "")


@each_row(
    "host",
    [
        "metadata.google.internal",
        "METADATA.Google.Internal",
        "metadata.goog",
        "metadata",
        "instance-data",
        "instance-data.ec2.internal",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd00:0ec2:0000::0254]",
        "[fd20:ce::254]",
        "[fd00:c1::a9fe:a9fe]",
    ],
)
def test_no_memory_goes_to_where_cloud_machines_keep_their_keys(host: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises(MnemonError, match="keys of cloud machines") as caught:
            parse(f"{scheme}://{host}/v1", "embedding.endpoint")
        assert caught.value.kind is CONFIG


@each_row(
    "host",
    [
        "::ffff:169.254.169.254",
        "::ffff:0:169.254.169.254",
        "::169.254.169.254",
        "::7f00:1",
        "64:ff9b::169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::808:808",
        "64:ff9b:1::a9fe:a9fe",
        "64:ff9b:1:a9fe:a9:fe00::",
        "2002:a9fe:a9fe::1",
        "2002:6464:64c8::",
        "2001:0:4136:e378:8000:63bf:5601:5601",
    ],
)
def test_an_ipv4_address_is_written_as_one(host: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises(MnemonError, match="hides an IPv4 address"):
            parse(f"{scheme}://[{host}]", "embedding.endpoint")


@given(st.integers(0, 2**32 - 1), st.sampled_from(["64:ff9b::", "2002:{}:{}::", "::ffff:", "::"]))
def test_no_form_of_ipv6_leads_to_an_ipv4_address(number: int, form: str) -> None:
    groups = f"{number >> 16:x}", f"{number & 0xFFFF:x}"
    host = form.format(*groups) if "{" in form else form + ":".join(groups)
    if ipaddress.ip_address(host) == ipaddress.ip_address("::1"):
        return
    with pytest.raises(MnemonError):
        parse(f"https://[{host}]", "x")


@each_row("host", ["[2606:4700::1111]", "[fd12:3456:789a::1]", "100.100.100.201", "metadata.example.com"])
def test_neighbours_of_those_are_servers_like_others(host: str) -> None:
    assert parse(f"https://{host}", "x").host == host


def test_localhost_is_this_machine_whatever_a_name_server_says() -> None:
    assert parse("http://localhost:1", "x").targets == ("http://127.0.0.1:1", "http://[::1]:1")
    assert parse("https://localhost:1", "x").targets == ("https://localhost:1",)
    assert parse("http://127.0.0.2", "x").targets == ("http://127.0.0.2:80",)


@given(st.text(max_size=40).map("http://".__add__))
def test_nothing_but_loopback_comes_through_unencrypted(url: str) -> None:
    try:
        address = parse(url, "x")
    except MnemonError:
        return
    assert isinstance(address, Address)
    assert address.loopback
    assert all(target.startswith(("http://127.", "http://[::1]")) for target in address.targets)
