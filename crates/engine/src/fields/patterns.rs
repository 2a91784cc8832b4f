use crate::settings::Settings;

/// Returns true if `name` matches `pattern`: an exact name, or `*`, `x*`, `*x`, `*x*`.
///
/// Source: attribute patterns of the customer's settings page.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(rest), Some(_)) => name.contains(rest.strip_suffix('*').unwrap_or(rest)),
        (Some(suffix), None) => name.ends_with(suffix),
        (None, Some(prefix)) => name.starts_with(prefix),
        (None, None) => pattern == name,
    }
}

/// Returns true if `name` is `ancestor` or a field nested in it: `a.b` is below `a`, `ab` is not.
pub fn is_same_or_below(ancestor: &str, name: &str) -> bool {
    name.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns names of attributes for a message: ordered, each once. One placeholder stands for attributes that are not
/// displayed, because clients without access to the settings read messages too.
pub fn shown_names<'n>(settings: &Settings, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let is_displayed = |name: &&str| {
        settings.displayed_attributes.iter().any(|one| one == "*" || is_same_or_below(one, name))
    };
    let (mut shown, hidden): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_displayed);
    shown.sort_unstable();
    shown.dedup();
    if !hidden.is_empty() {
        shown.push("<..hidden-attributes>");
    }
    shown
}
