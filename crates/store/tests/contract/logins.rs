//! Links become logins, once.

use atlasbridge_store::{Logins, Redeem};

use crate::world::{Dir, at};

fn redeem(link: &str, login: &str) -> Redeem {
    Redeem {
        link_hash: link.to_owned(),
        login_hash: login.to_owned(),
        name: format!("web:{login}"),
        device: "Firefox on Android".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_who_open_a_link_one_gets_in() {
    let dir = Dir::new();
    let store = dir.store().await;
    store.add_link("link", at(60).wall, at(0)).await.unwrap();
    let visitors: Vec<_> = (0..20)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let redeemed = store.redeem_link(redeem("link", &number.to_string()), at(1));
                redeemed.await.unwrap()
            })
        })
        .collect();
    let mut inside = 0;
    for visitor in visitors {
        inside += u32::from(visitor.await.unwrap());
    }
    assert_eq!(inside, 1);
    assert_eq!(store.logins().await.unwrap().len(), 1);
    assert_eq!(dir.story(), ["CONFIG_RELOADED login added"]);
}

#[tokio::test]
async fn a_link_has_its_time_and_a_login_its_end() {
    let dir = Dir::new();
    let store = dir.store().await;
    store.add_link("old", at(10).wall, at(0)).await.unwrap();
    assert!(!store.redeem_link(redeem("old", "1"), at(10)).await.unwrap());
    assert!(!store.redeem_link(redeem("forged", "1"), at(10)).await.unwrap());
    for login in ["1", "2", "3"] {
        store.add_link(login, at(60).wall, at(11)).await.unwrap();
        assert!(store.redeem_link(redeem(login, login), at(12)).await.unwrap());
    }
    let seen = async |hash| store.login(hash).await.unwrap().map(|login| login.seen_at);
    assert_eq!(seen("1").await, Some(at(12).wall));
    store.touch_login("1", at(71)).await.unwrap();
    assert_eq!(seen("1").await, Some(at(12).wall), "once a minute is enough");
    store.touch_login("1", at(72)).await.unwrap();
    assert_eq!(seen("1").await, Some(at(72).wall));

    let named = Logins::Named("web:2".to_owned());
    assert_eq!(store.revoke_logins(named.clone(), "uid:1000", at(80)).await.unwrap(), 1);
    assert_eq!(store.revoke_logins(named, "uid:1000", at(80)).await.unwrap(), 0);
    assert_eq!(seen("2").await, None);
    drop(store);
    let store = dir.store().await;
    assert_eq!(store.revoke_logins(Logins::All, "uid:1000", at(81)).await.unwrap(), 2);
    for hash in ["1", "2", "3"] {
        assert_eq!(store.login(hash).await.unwrap(), None);
    }
    assert_eq!(store.logins().await.unwrap().len(), 3, "who was here stays known");
    assert_eq!(
        dir.story()[3..],
        ["CONFIG_RELOADED login web:2 revoked", "CONFIG_RELOADED all logins revoked"]
    );
}
