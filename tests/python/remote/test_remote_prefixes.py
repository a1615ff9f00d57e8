# SPDX-License-Identifier: Apache-2.0
"""`tricodec.open_remote(url, allowed_prefixes=...)`: no request leaves the prefixes, wherever a server leads."""

from __future__ import annotations

import os

import pytest
import tricodec
from media import generated
from range_server import RangeServer, range_server


@pytest.mark.parametrize(
    ("prefix", "url"),
    [
        ("https://host/videos/", "https://host/videos/a.mp4"),
        ("https://host/videos", "https://host/videos/a.mp4?signature=x%2Fy"),
        ("https://host", "https://HOST:443/a%20b.mp4"),
        ("http://host:8080/", "http://host:8080/a.mp4"),
        ("s3://bucket/runs/", "s3://bucket/runs/1/a.mp4"),
    ],
)
def test_urls_below_a_prefix_are_accepted(prefix: str, url: str) -> None:
    assert tricodec.open_remote(url, allowed_prefixes=["s3://other/", prefix]).name == url


@pytest.mark.parametrize(
    ("prefix", "url", "text"),
    [
        ("https://host/videos", "https://host/videos2/a.mp4", "below no allowed prefix; allowed: https://host/videos"),
        ("https://host/videos/", "https://host/videos/../secret.mp4", "its path has . or .."),
        ("https://host/videos/", "https://host/videos/%2e%2e/secret.mp4", "its path has . or .."),
        ("https://host/videos/", "https://host/videos/..%2fsecret.mp4", "its path has an encoded slash"),
        ("https://host/videos/", "https://host/videos\\..\\a.mp4", "backslashes"),
        ("https://host/", "http://host/a.mp4", "below no allowed prefix"),
        ("https://host/", "https://host:444/a.mp4", "below no allowed prefix"),
        ("https://host/", "https://host.evil.example/a.mp4", "below no allowed prefix"),
        ("https://host/", "https://host@evil.example/a.mp4", "user name or a password"),
        ("https://host/", "https://user:secret@host/a.mp4", "user name or a password"),
        ("https://host/", "https://evil.example/#https://host/", "fragment"),
        ("https://host/", "https:///host/a.mp4", "names no host"),
        ("https://host/", "https://host/a\n.mp4", "control characters"),
        ("s3://bucket/", "s3://bucket2/a.mp4", "below no allowed prefix"),
        ("https://host/", "hf://datasets/a/b/c.mp4", "its scheme is none of"),
        ("https://host/", "file:///etc/passwd", "its scheme is none of"),
    ],
)
def test_other_urls_are_refused_before_any_request(prefix: str, url: str, text: str) -> None:
    with pytest.raises(tricodec.RefusedError, match=text.replace(".", r"\.")):
        tricodec.open_remote(url, allowed_prefixes=[prefix])


@pytest.mark.parametrize("prefix", ["", "https://", "host/videos", "file:///", "https://host/?a=b", "https://a b/"])
def test_a_prefix_that_is_no_url_of_a_place_is_an_error(prefix: str) -> None:
    with pytest.raises(ValueError, match="of URLs is not accepted"):
        tricodec.open_remote("https://host/a.mp4", allowed_prefixes=[prefix])


def test_a_video_below_a_prefix_has_the_frames_of_the_local_one(server: RangeServer) -> None:
    clip = generated("h264_bframes.mp4")
    url = server.put("videos/a.mp4", clip.read_bytes())
    source = tricodec.open_remote(url, allowed_prefixes=[f"{server.url}/videos/"])
    assert tricodec.FrameReader(source, device="cpu")[7].md5() == tricodec.FrameReader(clip, device="cpu")[7].md5()
    assert server.bytes_sent == source.stats.bytes_fetched


def test_redirects_below_the_prefixes_are_followed(server: RangeServer) -> None:
    data = os.urandom(1 << 20)
    server.put("store/data", data)
    url = server.redirect("videos/a", f"{server.url}/store/data")
    source = tricodec.open_remote(url, allowed_prefixes=[f"{server.url}/videos/", f"{server.url}/store/"])
    assert source.open().read() == data


def test_a_redirect_that_leaves_the_prefixes_is_refused_and_not_followed(server: RangeServer) -> None:
    with range_server() as other:
        secret = other.put("secret", b"x" * 100)
        url = server.redirect("videos/a", secret)
        source = tricodec.open_remote(url, allowed_prefixes=[f"{server.url}/videos/"])
        with pytest.raises(tricodec.RefusedError, match=r"a redirect of .*/videos/a' to .*/secret' is not read"):
            source.open()
        assert not other.paths
    inside = server.redirect("videos/b", "../secret")
    with pytest.raises(tricodec.RefusedError, match="below no allowed prefix"):
        tricodec.open_remote(inside, allowed_prefixes=[f"{server.url}/videos/"]).open()
    assert server.paths.count("/secret") == 0


def test_redirects_and_answers_without_end_are_errors(server: RangeServer) -> None:
    url = server.redirect("videos/a", "a")
    with pytest.raises(tricodec.MediaIOError, match=r"reading bytes .* failed"):
        tricodec.open_remote(url, allowed_prefixes=[server.url]).open()
    source = tricodec.open_remote(server.put("data", b"x" * 1000), allowed_prefixes=[server.url], timeout_s=0.2)
    server.latency_s = 2
    with pytest.raises(tricodec.MediaIOError, match="Timeout"):
        source.open()
