// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Attention of one head of one sequence as its formula reads, in double.
#pragma once

#include <limits>

#include <weft/core/index.hpp>
#include <weft/testing/matrix.hpp>
#include <weft/testing/reference.hpp>

namespace weft::testing {

//! One head of one sequence, with every score in memory.
struct ReferenceAttention {
  Matrix q;  //!< (Tq, C)
  Matrix k;  //!< (Tk, C)
  Matrix v;  //!< (Tk, C)
  double scale = 1.0;   //!< of the scores
  bool causal = false;  //!< whether a query sees only keys up to its own position
  Matrix factors;  //!< (Tq, Tk), what dropout multiplies the probabilities by

  //! softmax(scale q k' + mask). (Tq, Tk)
  [[nodiscard]] Matrix probabilities() const {
    return softmax(matrix(q.rows, k.rows, [&](index_t i, index_t j) {
      if (causal && j > i) return -std::numeric_limits<double>::infinity();
      double score = 0.0;
      for (index_t c = 0; c < q.columns; ++c) score += q(i, c) * k(j, c);
      return scale * score;
    }));
  }

  //! (Tq, C)
  [[nodiscard]] Matrix output() const { return product(dropped(probabilities()), v); }

  //! Of the inputs.
  struct Gradients {
    //! As q.
    Matrix dq;
    Matrix dk;  //!< as k
    Matrix dv;  //!< as v
  };

  //! The gradients of <dout, output()>, each line the adjoint of one of `output`.
  [[nodiscard]] Gradients gradients(const Matrix& dout) const {
    const Matrix p = probabilities();
    const Matrix dp = dropped(product(dout, transposed(v)));
    Matrix dscores(p.rows, p.columns);
    for (index_t i = 0; i < p.rows; ++i) {
      double mean = 0.0;
      for (index_t j = 0; j < p.columns; ++j) mean += p(i, j) * dp(i, j);
      for (index_t j = 0; j < p.columns; ++j) {
        dscores(i, j) = scale * p(i, j) * (dp(i, j) - mean);
      }
    }
    return {product(dscores, k), product(transposed(dscores), q),
            product(transposed(dropped(p)), dout)};
  }

 private:
  [[nodiscard]] Matrix dropped(const Matrix& p) const {
    return matrix(p.rows, p.columns,
                  [&](index_t i, index_t j) { return p(i, j) * factors(i, j); });
  }
};

}  // namespace weft::testing
