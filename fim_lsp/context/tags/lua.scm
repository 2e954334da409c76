(function_declaration name: (identifier)) @whole
(function_declaration name: (dot_index_expression table: (_) field: (identifier))) @whole
(function_declaration name: (method_index_expression table: (_) method: (identifier))) @whole
(assignment_statement (variable_list name: (dot_index_expression table: (_) field: (identifier))) (expression_list value: (function_definition body: (_)))) @whole
(field name: (identifier) value: (function_definition body: (_))) @whole
