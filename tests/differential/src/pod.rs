//! The pod template of a case, and the digests by which the specification compares templates.

use jobcheck_spec::job::{Template, Text};

use crate::json::{Object, list, map, text};
use crate::random::Random;

/// A pod template.
#[derive(Clone, Default)]
pub struct Pod {
    /// `metadata.finalizers`.
    pub finalizers: Vec<&'static str>,
    /// `metadata.annotations`.
    pub annotations: Vec<(Text, Text)>,
    /// `spec.nodeSelector`.
    pub node_selector: Option<&'static str>,
    /// `spec.affinity`, if it is present: whether it has `nodeAffinity`, and whether it has `podAntiAffinity`.
    pub affinity: Option<(bool, bool)>,
    /// True if the pod has a toleration.
    pub tolerated: bool,
    /// True if the pod has a scheduling gate.
    pub gated: bool,
    /// The `image` of all containers: true for `two`, false for `one`.
    pub second_image: bool,
    /// Names of the containers.
    pub containers: Vec<&'static str>,
    /// Names of the init containers.
    pub init_containers: Vec<&'static str>,
    /// CPU request of the containers.
    pub cpu: usize,
    /// CPU request of the init containers.
    pub init_cpu: usize,
}

impl Pod {
    /// Returns a template with one container and no other optional field.
    pub fn plain() -> Pod {
        Pod { containers: vec!["main"], cpu: 1, init_cpu: 1, ..Pod::default() }
    }

    /// Changes one field, or leaves it as it is by chance.
    pub fn vary(&mut self, random: &mut Random) {
        match random.below(10) {
            0 => self.finalizers = random.pick(&[vec![], vec!["a.io/b"]]),
            1 => self.annotations = random.pick(&[vec![], vec![("a".into(), "b".into())]]),
            2 => self.node_selector = random.pick(&[None, Some("one"), Some("two")]),
            3 => {
                self.affinity =
                    random.pick(&[None, Some((false, false)), Some((true, false)), Some((true, true))])
            }
            4 => self.tolerated = !self.tolerated,
            5 => self.gated = !self.gated,
            6 => self.second_image = random.one_in(2),
            7 => self.containers = random.pick(&[vec!["main"], vec!["main", "side"], vec!["side", "main"]]),
            8 => self.init_containers = random.pick(&[vec![], vec!["init"]]),
            _ => (self.cpu, self.init_cpu) = (1 + random.below(2), 1 + random.below(2)),
        }
    }

    /// Returns the template in the type of the specification. Fields other than those of the pod are from `like`.
    pub fn template(&self, like: &Template) -> Template {
        let names = self.containers.iter().chain(&self.init_containers);
        let names: Vec<Text> = names.map(|name| Text::from(*name)).collect();
        let has_init = !self.init_containers.is_empty();
        let fixed = format!(
            "{:?}{:?}{:?}{}",
            self.containers,
            self.init_containers,
            like.restart_policy,
            // Only the pod half of the affinity is fixed. The node half is a scheduling directive.
            u8::from(self.affinity.is_some_and(|(_, pods)| pods)) * 2 + u8::from(self.second_image)
        );
        // The presence of an affinity is a scheduling directive too, even of an empty one.
        let node_affinity = self.affinity.map(|(node, _)| node);
        let directives = format!("{:?}{node_affinity:?}{}{}", self.node_selector, self.tolerated, self.gated);
        let resources = format!("{} {}", self.cpu, if has_init { self.init_cpu } else { 0 });
        let metadata = format!("{:?}", self.finalizers);
        let labels = format!("{:?}{:?}", like.labels, self.annotations);
        let whole = format!("{fixed}|{directives}|{resources}|{metadata}|{labels}");
        Template {
            digest: digest(&whole),
            metadata_digest: digest(&metadata),
            labels_digest: digest(&labels),
            fixed_digest: digest(&fixed),
            directives_digest: digest(&directives),
            resources_digest: digest(&resources),
            annotations: self.annotations.clone(),
            container_names: names,
            ..like.clone()
        }
    }

    /// Returns the template as JSON of the API.
    pub fn json(&self, labels: &[(Text, Text)], restart_policy: &str) -> String {
        let metadata = Object::default()
            .raw("labels", &map(labels))
            .raw("annotations", &map(&self.annotations))
            .raw("finalizers", &list(self.finalizers.iter().map(|name| text(name))));
        let containers = |names: &[&str], cpu| list(names.iter().map(|name| self.container(name, cpu)));
        let spec = Object::default()
            .maybe("nodeSelector", self.node_selector.map(|value| format!(r#"{{"zone":"{value}"}}"#)))
            .maybe("affinity", self.affinity.map(affinity))
            .maybe("tolerations", self.tolerated.then_some(r#"[{"key":"k","operator":"Exists"}]"#))
            .maybe("schedulingGates", self.gated.then_some(r#"[{"name":"a.io/gate"}]"#))
            .raw("containers", &containers(&self.containers, self.cpu))
            .raw("initContainers", &containers(&self.init_containers, self.init_cpu))
            .maybe_text("restartPolicy", (!restart_policy.is_empty()).then_some(restart_policy))
            .raw("dnsPolicy", "\"ClusterFirst\"")
            .raw("schedulerName", "\"default-scheduler\"")
            .raw("terminationGracePeriodSeconds", "30")
            .raw("securityContext", "{}");
        Object::default().raw("metadata", &metadata.end()).raw("spec", &spec.end()).end()
    }

    fn container(&self, name: &str, cpu: usize) -> String {
        Object::default()
            .raw("name", &text(name))
            .raw("image", if self.second_image { "\"two\"" } else { "\"one\"" })
            .raw("imagePullPolicy", "\"Always\"")
            .raw("terminationMessagePath", "\"/dev/termination-log\"")
            .raw("terminationMessagePolicy", "\"File\"")
            .raw("resources", &format!(r#"{{"requests":{{"cpu":"{cpu}"}}}}"#))
            .end()
    }
}

fn affinity((node, pods): (bool, bool)) -> String {
    let term = r#"{"matchExpressions":[{"key":"zone","operator":"Exists"}]}"#;
    let node_half =
        format!(r#"{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{term}]}}}}"#);
    let pod_half = r#"{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}}}]}"#;
    Object::default()
        .maybe("nodeAffinity", node.then_some(node_half))
        .maybe("podAntiAffinity", pods.then_some(pod_half))
        .end()
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
