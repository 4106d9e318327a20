//! The page's own files, carried in the program. A name is looked up in a table: no path ever reaches a disk.

use atlasbridge_model::id::hex;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::server::Problem;

/// Everything in `ui/`, by its name.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// A file by its name. `/` and `/open` are the same page, which finds its way by its address.
pub(crate) async fn serve(request: Request) -> Result<Response, Problem> {
    let name = request.uri().path().strip_prefix("/assets/").unwrap_or("index.html");
    let file = FILES.iter().find(|(known, _)| *known == name);
    let &(_, bytes) = file.ok_or_else(|| Problem::not_found("There is nothing here."))?;
    let tag = format!("\"{}\"", &hex(&Sha256::digest(bytes))[..16]);
    let headers = [
        (CONTENT_TYPE, kind_of(name)),
        (ETAG, tag.as_str()),
        // Kept, but asked about each time: an upgraded hub must not meet yesterday's page.
        (CACHE_CONTROL, "no-cache"),
    ];
    let known = request.headers().get(IF_NONE_MATCH).map(|tag| tag.as_bytes());
    if known == Some(tag.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    Ok((headers, bytes).into_response())
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("webmanifest") => "application/manifest+json",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_carried_and_small_and_of_known_kinds() {
        assert!(FILES.iter().any(|(name, _)| *name == "index.html"));
        for (name, _) in FILES {
            assert_ne!(kind_of(name), "application/octet-stream", "{name}");
        }
        let bytes: usize = FILES.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(bytes < 61_000, "the page has {bytes} bytes");
    }
}
