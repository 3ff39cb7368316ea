//! What a cgroup is to an administrator: a systemd unit, a pod, a container, a job.

use crate::machine::Root;

/// Number of hexadecimal digits by which a container is known if it has no name.
const SHORT_ID: usize = 12;
/// Suffixes of systemd units that processes run in.
const UNITS: [&str; 3] = [".service", ".scope", ".slice"];

/// Returns the unit, pod, container or job that a cgroup belongs to; `None` for the root. Names of containers and pods
/// come from the files of their runtimes, where those can be read.
#[must_use]
pub fn unit(root: &Root, cgroup: &str) -> Option<String> {
    let parts: Vec<&str> = cgroup.split('/').filter(|part| !part.is_empty()).collect();
    let last = parts.last()?;
    let pod = parts.iter().rev().find_map(|part| pod_uid(part));
    let container = parts.iter().rev().find_map(|part| container_id(part));
    if let Some(uid) = pod {
        let id = container.unwrap_or_default();
        return Some(format!("pod {}", pod_name(root, id, &uid).unwrap_or(uid)));
    }
    if let Some(id) = container {
        let name = container_name(root, id).unwrap_or_else(|| id[..SHORT_ID].to_owned());
        return Some(format!("container {name}"));
    }
    let is_number = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let job = parts.iter().find_map(|part| part.strip_prefix("job_").filter(is_number));
    if let Some(id) = job {
        return Some(format!("job {id}"));
    }
    let lxc = parts.iter().find_map(|part| part.strip_prefix("lxc.payload."));
    if let Some(name) = lxc {
        return Some(format!("container {name}"));
    }
    let is_unit = |part: &&&str| UNITS.iter().any(|suffix| part.ends_with(suffix));
    let unit =
        parts.iter().rev().find(is_unit).filter(|unit| *unit == last || !unit.ends_with(".slice"));
    Some(unit.map_or_else(|| cgroup.to_owned(), |unit| (*unit).to_owned()))
}

/// Returns the id of a pod in a part of a path: `pod<UID>`, or `kubepods-burstable-pod<UID>.slice` with `_` for `-`.
fn pod_uid(part: &str) -> Option<String> {
    let uid = match part.strip_suffix(".slice") {
        Some(slice) if slice.starts_with("kubepods") => {
            slice.rsplit_once("-pod")?.1.replace('_', "-")
        }
        _ => part.strip_prefix("pod")?.to_owned(),
    };
    let is_uid = uid.len() >= 32 && uid.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_uid.then_some(uid)
}

/// Returns the id of a container in a part of a path: `docker-ID.scope`, `cri-containerd-ID.scope`, `ID`.
pub(crate) fn container_id(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = part.rsplit_once('-').map_or(part, |(_, id)| id);
    (id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// Returns `NAMESPACE/NAME` of a pod: from the kubelet's directory of its logs (`NAMESPACE_NAME_UID`), and with the name
/// of the container, from the links beside (`NAME_NAMESPACE_CONTAINER-ID.log`).
fn pod_name(root: &Root, container: &str, uid: &str) -> Option<String> {
    let of_container = |name: String| {
        let (pod, rest) = name.strip_suffix(&format!("-{container}.log"))?.split_once('_')?;
        let (namespace, container) = rest.split_once('_')?;
        Some(format!("{namespace}/{pod} ({container})"))
    };
    let of_pod = |name: String| {
        let (namespace, pod) = name.strip_suffix(&format!("_{uid}"))?.split_once('_')?;
        Some(format!("{namespace}/{pod}"))
    };
    let links = || root.names("/var/log/containers").into_iter().filter(|_| !container.is_empty());
    links()
        .find_map(of_container)
        .or_else(|| root.names("/var/log/pods").into_iter().find_map(of_pod))
}

/// Returns the name of a container that Docker or Podman started.
pub(crate) fn container_name(root: &Root, id: &str) -> Option<String> {
    let docker = root.read(&format!("/var/lib/docker/containers/{id}/config.v2.json"));
    let docker = docker.and_then(|text| {
        let parsed: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(parsed.get("Name")?.as_str()?.trim_start_matches('/').to_owned())
    });
    let podman = || {
        let text = root.read("/var/lib/containers/storage/overlay-containers/containers.json")?;
        let parsed: serde_json::Value = serde_json::from_str(&text).ok()?;
        let found = parsed.as_array()?.iter().find(|unit| unit["id"].as_str() == Some(id))?;
        Some(found["names"].get(0)?.as_str()?.to_owned())
    };
    docker.or_else(podman)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroups_have_the_names_that_administrators_know() {
        let id = "0123456789abcdef".repeat(4);
        let other = "fedcba9876543210".repeat(4);
        let uid = "6a2b1c3d-0000-4000-8000-123456789abc";
        let named = format!("{{\"ID\":\"{id}\",\"Name\":\"/db\"}}");
        let (_directory, root) = Root::tree(&[
            (format!("var/lib/docker/containers/{id}/config.v2.json"), &*named),
            (format!("var/log/pods/shop_web-0_{uid}/x"), ""),
            (format!("var/log/containers/web-0_shop_nginx-{id}.log"), ""),
        ]);
        let slice = format!("kubepods-burstable-pod{}.slice", uid.replace('-', "_"));
        let cases: &[(&str, String, Option<String>)] = &[
            ("root", "/".into(), None),
            ("nothing", String::new(), None),
            ("service", "/system.slice/cron.service".into(), Some("cron.service".into())),
            (
                "of a user",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope".into(),
                Some("app-x.scope".into()),
            ),
            ("below a service", "/system.slice/x.service/inner".into(), Some("x.service".into())),
            ("slice", "/user.slice".into(), Some("user.slice".into())),
            ("below a slice alone", "/my.slice/a".into(), Some("/my.slice/a".into())),
            (
                "docker by systemd",
                format!("/system.slice/docker-{id}.scope"),
                Some("container db".into()),
            ),
            ("docker", format!("/docker/{id}"), Some("container db".into())),
            (
                "unknown container",
                format!("/machine.slice/libpod-{other}.scope/container"),
                Some("container fedcba987654".into()),
            ),
            (
                "pod",
                format!("/kubepods.slice/{slice}/cri-containerd-{id}.scope"),
                Some("pod shop/web-0 (nginx)".into()),
            ),
            (
                "pod without its container",
                format!("/kubepods/burstable/pod{uid}/{other}"),
                Some("pod shop/web-0".into()),
            ),
            (
                "unknown pod",
                format!("/kubepods/pod{}", uid.replace('6', "7")),
                Some(format!("pod {}", uid.replace('6', "7"))),
            ),
            (
                "job",
                "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0".into(),
                Some("job 4711".into()),
            ),
            ("no job", "/system.slice/job_queue.service".into(), Some("job_queue.service".into())),
            ("lxc", "/lxc.payload.web/init.scope".into(), Some("container web".into())),
            ("made by hand", "/batch/a".into(), Some("/batch/a".into())),
            ("many bytes", format!("/é{id}"), Some(format!("/é{id}"))),
        ];
        for (name, cgroup, expected) in cases {
            assert_eq!(unit(&root, cgroup), *expected, "case: {name}");
        }
    }
}
