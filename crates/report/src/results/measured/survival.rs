//! Survival curves on a logarithmic axis, which cannot show 0.

/// Ratio of the smallest positive value to the left edge.
const BEFORE: f64 = 1.2;

/// Extends survival curves to the left edge, where all samples survive and where a curve falls by its share at 0. Each
/// point holds up to the next; a curve without positive values becomes empty.
pub(crate) fn from_all(curves: Vec<Vec<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let shown = curves.iter().flatten().filter(|point| is_shown(point));
    let edge = shown.map(|point| point.0).fold(f64::INFINITY, f64::min) / BEFORE;
    curves.into_iter().map(|points| from_edge(edge, points)).collect()
}

/// Returns whether a logarithmic axis can show a point.
fn is_shown((x, share): &(f64, f64)) -> bool {
    *x > 0.0 && *share > 0.0
}

/// Extends one curve to the edge.
fn from_edge(edge: f64, points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let at_zero = points.iter().rfind(|point| point.0 <= 0.0).map(|point| point.1);
    let mut rest: Vec<(f64, f64)> = points.into_iter().filter(is_shown).collect();
    rest.dedup_by(|after, before| after.0 <= before.0);
    if rest.is_empty() {
        return rest;
    }
    let mut curve = vec![(edge, 1.0)];
    // The next representable number, because two points need different places.
    curve.extend(at_zero.filter(|share| *share < 1.0).map(|share| (edge.next_up(), share)));
    curve.append(&mut rest);
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_samples_are_at_the_left_edge() {
        let zeros =
            vec![(0.0, 1.0), (0.0, 1.0), (0.0, 0.85), (12.0, 0.5), (12.0, 0.4), (24.0, 0.1)];
        let later = vec![(36.0, 1.0), (48.0, 0.2), (60.0, 0.0)];
        let none = vec![(0.0, 1.0)];
        let edge = 10.0f64;
        let expected = [
            vec![(edge, 1.0), (edge.next_up(), 0.85), (12.0, 0.5), (24.0, 0.1)],
            vec![(edge, 1.0), (36.0, 1.0), (48.0, 0.2)],
            vec![],
        ];
        assert_eq!(from_all(vec![zeros, later, none.clone()]), expected);
        assert_eq!(from_all(vec![none, vec![]]), [vec![], vec![]]);
    }
}
